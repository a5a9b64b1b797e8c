package certificates

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Options say which certificates to issue, and which objects hold and trust the authorities.
type Options struct {
	// Secret holds the authorities.
	Secret client.ObjectKey
	// MutatingWebhookConfiguration and ValidatingWebhookConfiguration are the names of the configurations that must trust the
	// authorities.
	MutatingWebhookConfiguration, ValidatingWebhookConfiguration string
	// DNSNames are the names under which clients call the servers.
	DNSNames []string
	// AuthorityDuration and CertificateDuration are how long an authority and a server's certificate are valid.
	AuthorityDuration, CertificateDuration time.Duration
}

// settling is how long every webhook must have trusted an authority before it signs, so that every API server has learned of it.
func (o Options) settling() time.Duration { return min(time.Minute, o.AuthorityDuration/10) }

// CacheByObject returns the cache options for the three objects that a Reconciler reads, each selected by name.
func (o Options) CacheByObject() map[client.Object]cache.ByObject {
	named := func(name string) fields.Selector { return fields.OneTermEqualSelector(metav1.ObjectNameField, name) }
	return map[client.Object]cache.ByObject{
		&corev1.Secret{}: {Namespaces: map[string]cache.Config{o.Secret.Namespace: {FieldSelector: named(o.Secret.Name)}}},
		&admissionregistrationv1.MutatingWebhookConfiguration{}:   {Field: named(o.MutatingWebhookConfiguration)},
		&admissionregistrationv1.ValidatingWebhookConfiguration{}: {Field: named(o.ValidatingWebhookConfiguration)},
	}
}

// Reconciler maintains the authorities, the webhooks' trust in them and this replica's certificate. Every replica runs one,
// leader or not, because every replica serves webhooks.
type Reconciler struct {
	// Client reads from the cache that CacheByObject describes.
	Client  client.Client
	Options Options
	// Source receives the certificate.
	Source *Source
	// Clock is the real clock if nil.
	Clock clock.PassiveClock

	trusted trust
}

// SetupWithManager registers the reconciler with the manager.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	// Every event triggers the same work, so there is only one request.
	everything := reconcile.Request{}
	enqueue := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{everything}
	})
	atStart := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(everything)
		return nil
	})
	return ctrl.NewControllerManagedBy(manager).
		Named("certificates").
		Watches(&corev1.Secret{}, enqueue).
		Watches(&admissionregistrationv1.MutatingWebhookConfiguration{}, enqueue).
		Watches(&admissionregistrationv1.ValidatingWebhookConfiguration{}, enqueue).
		WatchesRawSource(atStart).
		// One at a time, because no lock protects r.trusted.
		WithOptions(controller.Options{NeedLeaderElection: new(false), MaxConcurrentReconciles: 1}).
		Complete(r)
}

// Reconcile does what is due, and returns when to check again.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	now := r.now()
	authorities, err := r.ensureAuthorities(ctx, now)
	if err != nil || len(authorities) == 0 {
		return ctrl.Result{}, err
	}
	trusted, err := r.ensureTrust(ctx, certificatesOf(authorities), now)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.trusted = r.trusted.observe(now, trusted)

	settling := r.Options.settling()
	certificate := r.Source.current()
	if by := signer(authorities, r.trusted, now, settling); mustReissue(certificate, by, r.trusted, now, settling) {
		if certificate, err = by.issue(now, r.Options.CertificateDuration, r.Options.DNSNames); err != nil {
			return ctrl.Result{}, fmt.Errorf("sign a certificate: %w", err)
		}
		logf.FromContext(ctx).Info("Serving a new certificate", "until", certificate.Leaf.NotAfter, "authorityUntil", by.certificate.NotAfter)
	}
	isTrusted := slices.ContainsFunc(trusted, func(a *x509.Certificate) bool { return certificate.Leaf.CheckSignatureFrom(a) == nil })
	r.Source.set(certificate, isTrusted)
	return ctrl.Result{RequeueAfter: nextCheck(authorities, certificate, r.trusted, now, settling).Sub(now)}, nil
}

func (r *Reconciler) now() time.Time {
	if r.Clock == nil {
		return time.Now()
	}
	return r.Clock.Now()
}

// ensureAuthorities returns the authorities in the Secret, newest first, after creating those that are due. It returns none when
// another replica has written the Secret first; the event of that write triggers the next reconcile.
func (r *Reconciler) ensureAuthorities(ctx context.Context, now time.Time) ([]authority, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.Options.Secret.Namespace, Name: r.Options.Secret.Name}}
	err := r.Client.Get(ctx, r.Options.Secret, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	exists := err == nil
	log := logf.FromContext(ctx).WithValues("secret", r.Options.Secret)

	var stored []authority
	if exists {
		if stored, err = parseSecret(secret.Data); err != nil {
			log.Info("Replacing the Secret's content, which is not a certificate authority of the operator", "reason", err.Error())
		}
	}
	valid := withoutExpired(stored, now)
	if needsSuccessor(valid, now) {
		successor, err := newAuthority(now, r.Options.AuthorityDuration)
		if err != nil {
			return nil, fmt.Errorf("create a certificate authority: %w", err)
		}
		valid = append([]authority{successor}, valid[:min(len(valid), 1)]...)
		log.Info("Creating a certificate authority", "until", successor.certificate.NotAfter)
	}
	data, err := encodeSecret(valid)
	if err != nil {
		return nil, err
	}
	switch same := func(a, b []byte) bool { return string(a) == string(b) }; {
	case !exists:
		secret.Type = corev1.SecretTypeTLS
		secret.Data = data
		err = r.Client.Create(ctx, secret)
	case !maps.EqualFunc(secret.Data, data, same):
		secret.Data = data
		err = r.Client.Update(ctx, secret)
	}
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		return nil, nil
	}
	return valid, err
}

// ensureTrust makes every webhook trust the certificates, and returns those that every webhook trusted before.
func (r *Reconciler) ensureTrust(ctx context.Context, certificates []*x509.Certificate, now time.Time) ([]*x509.Certificate, error) {
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	byMutating, err1 := r.ensureTrustOf(ctx, r.Options.MutatingWebhookConfiguration, mutating, func() (configs []*admissionregistrationv1.WebhookClientConfig) {
		for i := range mutating.Webhooks {
			configs = append(configs, &mutating.Webhooks[i].ClientConfig)
		}
		return configs
	}, certificates, now)
	byValidating, err2 := r.ensureTrustOf(ctx, r.Options.ValidatingWebhookConfiguration, validating, func() (configs []*admissionregistrationv1.WebhookClientConfig) {
		for i := range validating.Webhooks {
			configs = append(configs, &validating.Webhooks[i].ClientConfig)
		}
		return configs
	}, certificates, now)
	return intersect(byMutating, byValidating), errors.Join(err1, err2)
}

// ensureTrustOf is ensureTrust for one webhook configuration. clients returns how each of its webhooks is called.
func (r *Reconciler) ensureTrustOf(ctx context.Context, name string, configuration client.Object,
	clients func() []*admissionregistrationv1.WebhookClientConfig, certificates []*x509.Certificate, now time.Time,
) ([]*x509.Certificate, error) {
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, configuration); err != nil {
		if apierrors.IsNotFound(err) {
			// Its creation triggers the next reconcile.
			logf.FromContext(ctx).Info("Waiting for a webhook configuration", "name", name)
			return nil, nil
		}
		return nil, err
	}
	before := configuration.DeepCopyObject().(client.Object)
	var trusted []*x509.Certificate
	changed := false
	for i, config := range clients() {
		present := parseBundle(config.CABundle)
		if i == 0 {
			trusted = present
		}
		trusted = intersect(trusted, present)
		merged := mergeBundle(config.CABundle, certificates, now)
		changed = changed || string(merged) != string(config.CABundle)
		config.CABundle = merged
	}
	if !changed {
		return trusted, nil
	}
	// The optimistic lock protects the list of webhooks, which the patch replaces as a whole.
	err := r.Client.Patch(ctx, configuration, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		err = nil // changed in the meantime: its event triggers the next reconcile
	}
	return trusted, err
}

func intersect(a, b []*x509.Certificate) []*x509.Certificate {
	return slices.DeleteFunc(slices.Clone(a), func(one *x509.Certificate) bool { return !slices.ContainsFunc(b, one.Equal) })
}
