package certificates

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// The names under which an API server calls the webhooks, and under which others read the metrics.
const (
	serverName  = "operator-webhook-service.operator-system.svc"
	metricsName = "operator-controller-manager-metrics-service.operator-system.svc"
)

// site is a cluster with two webhook configurations, of three webhooks together, and a clock.
type site struct {
	t       *testing.T
	client  client.WithWatch
	clock   *clocktesting.FakeClock
	options Options
	// past records the bundles that the API server and the Secret had, and when.
	past []observed
}

type observed struct {
	at time.Time
	// bundles are what the webhooks trust, and published is what the Secret offers to other clients.
	bundles   [][]byte
	published []byte
}

// observe records the bundles.
func (s *site) observe() {
	s.t.Helper()
	s.past = append(s.past, observed{s.clock.Now(), s.bundles(), s.secret().Data[bundleKey]})
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{
		t:      t,
		client: fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build(),
		clock:  clocktesting.NewFakeClock(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)),
		options: Options{
			Secret:                         client.ObjectKey{Namespace: "operator-system", Name: "operator-webhook-ca"},
			MutatingWebhookConfiguration:   "mutating",
			ValidatingWebhookConfiguration: "validating",
			DNSNames:                       []string{serverName, metricsName},
			AuthorityDuration:              90 * time.Minute,
			CertificateDuration:            12 * time.Minute,
		},
	}
	s.install()
	return s
}

// install creates the webhook configurations as in their manifests, without a bundle.
func (s *site) install() {
	s.t.Helper()
	config := admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "operator-system", Name: "operator-webhook-service"}}
	for _, object := range []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "mutating"},
			Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: "m.example.com", ClientConfig: config}}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "validating"},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "v.example.com", ClientConfig: config}, {Name: "w.example.com", ClientConfig: config}}},
	} {
		if err := s.client.Create(s.t.Context(), object); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *site) replica() *Reconciler {
	return &Reconciler{Client: s.client, Options: s.options, Source: &Source{Clock: s.clock}, Clock: s.clock}
}

// reconcile runs every replica until none has anything left to do now, and returns the shortest time after which one checks
// again.
func (s *site) reconcile(replicas ...*Reconciler) time.Duration {
	s.t.Helper()
	var next time.Duration
	for range 3 { // one replica's writes cause events for all of them
		next = time.Hour
		for _, replica := range replicas {
			result, err := replica.Reconcile(s.t.Context(), ctrl.Request{})
			if err != nil {
				s.t.Fatal(err)
			}
			if result.RequeueAfter <= 0 {
				s.t.Fatalf("RequeueAfter = %s: nothing would ever be looked at again", result.RequeueAfter)
			}
			next = min(next, result.RequeueAfter)
		}
	}
	s.observe()
	return next
}

// bundles returns what the webhooks trust.
func (s *site) bundles() [][]byte {
	s.t.Helper()
	mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := errors.Join(
		s.client.Get(s.t.Context(), client.ObjectKey{Name: "mutating"}, mutating),
		s.client.Get(s.t.Context(), client.ObjectKey{Name: "validating"}, validating),
	); err != nil {
		s.t.Fatal(err)
	}
	return [][]byte{mutating.Webhooks[0].ClientConfig.CABundle, validating.Webhooks[0].ClientConfig.CABundle, validating.Webhooks[1].ClientConfig.CABundle}
}

// serves returns why a client that trusts the bundle would not call the replica by that name, or nil.
func (s *site) serves(replica *Reconciler, name string, bundle []byte) error {
	certificate, err := replica.Source.GetCertificate(nil)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	_, err = certificate.Leaf.Verify(x509.VerifyOptions{
		DNSName: name, Roots: roots, CurrentTime: s.clock.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return err
}

// mustServe fails the test if an API server would not call a replica, or if one whose configuration is lag behind would not.
func (s *site) mustServe(when string, lag time.Duration, replicas ...*Reconciler) {
	s.t.Helper()
	for i, replica := range replicas {
		for _, bundle := range s.known(lag).bundles {
			if err := s.serves(replica, serverName, bundle); err != nil {
				s.t.Fatalf("%s, replica %d, an API server %s behind: %v", when, i, lag, err)
			}
		}
	}
}

// mustServeMetrics is mustServe for clients that read metrics, and trust what the Secret publishes.
func (s *site) mustServeMetrics(when string, lag time.Duration, replicas ...*Reconciler) {
	s.t.Helper()
	for i, replica := range replicas {
		if err := s.serves(replica, metricsName, s.known(lag).published); err != nil {
			s.t.Fatalf("%s, replica %d, a client of the metrics %s behind: %v", when, i, lag, err)
		}
	}
}

// known returns what a client knows that is lag behind.
func (s *site) known(lag time.Duration) observed {
	known := s.past[0]
	for _, o := range s.past {
		if !o.at.After(s.clock.Now().Add(-lag)) {
			known = o
		}
	}
	return known
}

func (s *site) secret() *corev1.Secret {
	s.t.Helper()
	secret := &corev1.Secret{}
	if err := s.client.Get(s.t.Context(), s.options.Secret, secret); err != nil {
		s.t.Fatal(err)
	}
	return secret
}

func TestFirstStart(t *testing.T) {
	s := newSite(t)
	one, two := s.replica(), s.replica()
	if err := one.Source.Check(nil); err == nil {
		t.Error("ready before there is a certificate")
	}
	s.reconcile(one, two)
	s.mustServe("at once", 0, one, two)
	if one.Source.current().Leaf.Equal(two.Source.current().Leaf) {
		t.Error("the replicas share a certificate, so that its key has traveled")
	}
	if data := s.secret().Data; len(data[previousCertificateKey]) > 0 || len(data[corev1.TLSPrivateKeyKey]) == 0 || len(data[bundleKey]) == 0 {
		t.Errorf("the Secret does not hold one authority: %d keys", len(data))
	}
}

// Three lifetimes of an authority, checked whenever something happens: no admission fails, and nobody fails to read metrics, not even if
// the API server or the reader lags behind, nor with a replica that starts in the middle.
func TestRotationFailsNoAdmission(t *testing.T) {
	s := newSite(t)
	one := s.replica()
	two := s.replica()
	two.Options.CertificateDuration = 200 * time.Minute // longer than its authority: it is cut
	replicas := []*Reconciler{one, two}
	s.reconcile(replicas...)
	lag := s.options.settling() - time.Second

	authorities, certificates := map[string]bool{}, map[string]bool{}
	end := s.clock.Now().Add(3 * s.options.AuthorityDuration)
	for step := 0; s.clock.Now().Before(end); step++ {
		// The previous certificate is served until this reconcile is done.
		s.mustServe("before work", 0, replicas...)
		next := s.reconcile(replicas...)
		s.mustServe("after work", 0, replicas...)
		s.mustServe("after work", lag, replicas...)
		s.mustServeMetrics("after work", 0, replicas...)
		s.mustServeMetrics("after work", lag, replicas...)
		if step%10 == 0 {
			replicas[1] = s.replica()
			s.reconcile(replicas...)
			s.mustServe("after a start", lag, replicas...)
			s.mustServeMetrics("after a start", lag, replicas...)
		}
		authorities[string(s.secret().Data[corev1.TLSCertKey])] = true
		certificates[string(one.Source.current().Leaf.Raw)] = true
		s.clock.Step(next)
		s.past = s.past[max(0, len(s.past)-10):]
	}
	// An authority is replaced after two thirds of 90 minutes: 270 minutes see five authorities, and 34 certificates of the
	// server.
	if len(authorities) < 4 || len(authorities) > 6 {
		t.Errorf("%d authorities in three times their validity", len(authorities))
	}
	if len(certificates) < 30 || len(certificates) > 50 {
		t.Errorf("%d certificates of 12 minutes in 270 minutes", len(certificates))
	}
	if n := len(parseBundle(s.bundles()[0])); n > 2 {
		t.Errorf("%d authorities are trusted: those that have expired are not removed", n)
	}
}

// Whatever others do to the objects, the replicas repair it, and admissions go on meanwhile.
func TestRepair(t *testing.T) {
	for _, test := range []struct {
		name   string
		harm   func(*site)
		breaks bool // admissions fail until the next event
	}{
		{"the Secret is deleted", func(s *site) { s.do(s.client.Delete(s.t.Context(), s.secret())) }, false},
		{"the Secret's key is garbage", func(s *site) {
			secret := s.secret()
			secret.Data[corev1.TLSPrivateKeyKey] = []byte("garbage")
			s.do(s.client.Update(s.t.Context(), secret))
		}, false},
		{"the Secret holds a foreign authority", func(s *site) {
			foreign := newSite(s.t)
			foreign.reconcile(foreign.replica())
			secret := s.secret()
			secret.Data[corev1.TLSCertKey] = foreign.secret().Data[corev1.TLSCertKey]
			s.do(s.client.Update(s.t.Context(), secret))
		}, false},
		{"a configuration is created again", func(s *site) {
			for _, object := range []client.Object{
				&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "mutating"}},
				&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "validating"}},
			} {
				s.do(s.client.Delete(s.t.Context(), object))
			}
			s.install()
		}, true},
		{"a bundle is garbage", func(s *site) {
			validating := &admissionregistrationv1.ValidatingWebhookConfiguration{}
			s.do(s.client.Get(s.t.Context(), client.ObjectKey{Name: "validating"}, validating))
			validating.Webhooks[1].ClientConfig.CABundle = []byte("garbage")
			s.do(s.client.Update(s.t.Context(), validating))
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSite(t)
			one, two := s.replica(), s.replica()
			s.reconcile(one, two)
			test.harm(s)
			if !test.breaks {
				s.mustServe("before work", 0, one, two)
			}
			for range 5 {
				s.clock.Step(s.reconcile(one, two))
				s.mustServe("after work", 0, one, two)
			}
			authorities, err := parseSecret(s.secret().Data)
			if err != nil {
				t.Fatal(err)
			}
			for i, replica := range []*Reconciler{one, two} {
				if err := replica.Source.current().Leaf.CheckSignatureFrom(authorities[0].certificate); err != nil {
					t.Errorf("replica %d is signed by another authority than the Secret's: %v", i, err)
				}
			}
		})
	}
}

func (s *site) do(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestNothingIsWrittenWithoutNeed(t *testing.T) {
	s := newSite(t)
	one := s.replica()
	s.reconcile(one)
	before := s.secret().ResourceVersion
	s.reconcile(one, s.replica())
	if after := s.secret().ResourceVersion; after != before {
		t.Errorf("the Secret went from version %s to %s", before, after)
	}
}

// A replica whose webhook configurations do not exist yet serves, and is not ready.
func TestNotReadyBeforeItIsTrusted(t *testing.T) {
	s := newSite(t)
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "mutating"}}
	s.do(s.client.Delete(t.Context(), mutating))
	one := s.replica()
	for range 3 {
		if _, err := one.Reconcile(t.Context(), ctrl.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.Source.Check(nil); err == nil {
		t.Error("ready without a webhook configuration that trusts the certificate")
	}
	s.do(s.client.Delete(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "validating"}}))
	s.install()
	s.reconcile(one)
	if err := one.Source.Check(nil); err != nil {
		t.Errorf("not ready: %v", err)
	}
	s.do(s.client.Delete(t.Context(), mutating))
	if _, err := one.Reconcile(t.Context(), ctrl.Request{}); err != nil {
		t.Fatal(err)
	}
	if err := one.Source.Check(nil); err != nil {
		t.Errorf("not ready because a webhook configuration is gone, so that the other one fails too: %v", err)
	}
}

func TestMergeBundle(t *testing.T) {
	now := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	made := func(at time.Duration) authority {
		a, err := newAuthority(now.Add(at), 10*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	expired, old, current := made(-20*time.Hour), made(-5*time.Hour), made(0)
	foreign, err := current.issue(now, time.Hour, []string{"foreign"})
	if err != nil {
		t.Fatal(err)
	}
	bundle := encodeCertificates
	for _, test := range []struct {
		name string
		have []byte
		want []byte
	}{
		{"empty", nil, bundle(current.certificate)},
		{"garbage", []byte("garbage"), bundle(current.certificate)},
		{"as it should be", bundle(current.certificate), bundle(current.certificate)},
		{"another order", bundle(old.certificate, current.certificate), bundle(old.certificate, current.certificate)},
		{"twice", bundle(current.certificate, current.certificate), bundle(current.certificate)},
		{"one still valid", bundle(old.certificate), bundle(current.certificate, old.certificate)},
		{"one expired", bundle(expired.certificate, current.certificate), bundle(current.certificate)},
		{"one that is not ours", bundle(foreign.Leaf, current.certificate), bundle(current.certificate)},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := mergeBundle(test.have, []*x509.Certificate{current.certificate}, now); string(got) != string(test.want) {
				t.Errorf("got %d certificates, want %d", len(parseBundle(got)), len(parseBundle(test.want)))
			}
		})
	}
	var many []*x509.Certificate
	for i := range 2 * maxBundle {
		many = append(many, made(-time.Duration(i+1)*time.Minute).certificate)
	}
	got := parseBundle(mergeBundle(bundle(many...), []*x509.Certificate{current.certificate}, now))
	if len(got) != maxBundle || !got[0].Equal(current.certificate) {
		t.Errorf("%d certificates are trusted, want the newest %d", len(got), maxBundle)
	}
}

func TestSigner(t *testing.T) {
	now := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	var newest, oldest authority
	for _, a := range []*authority{&newest, &oldest} {
		var err error
		if *a, err = newAuthority(now, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	since := func(a authority, ago time.Duration) trust { return trust{string(a.certificate.Raw): now.Add(-ago)} }
	both := func(a, b trust) trust {
		maps.Copy(a, b)
		return a
	}
	for _, test := range []struct {
		name    string
		trusted trust
		want    authority
	}{
		{"none is trusted", nil, newest},
		{"the newest is trusted for long enough", both(since(newest, time.Minute), since(oldest, time.Hour)), newest},
		{"the newest is trusted since just now", both(since(newest, time.Second), since(oldest, time.Hour)), oldest},
		{"both since just now", both(since(newest, 0), since(oldest, 0)), oldest},
		{"only the newest, since just now", since(newest, 0), newest},
		{"only the oldest, since just now", since(oldest, 0), oldest},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := signer([]authority{newest, oldest}, test.trusted, now, time.Minute)
			if !got.certificate.Equal(test.want.certificate) {
				t.Errorf("the wrong one signs")
			}
		})
	}
}

func TestParseSecretErrors(t *testing.T) {
	s := newSite(t)
	s.reconcile(s.replica())
	other := newSite(t)
	other.reconcile(other.replica())
	for _, test := range []struct {
		key, from string
		want      string
	}{
		{corev1.TLSCertKey, "", "tls.crt and tls.key: read the certificate"},
		{corev1.TLSPrivateKeyKey, "", "tls.crt and tls.key: read the key"},
		{corev1.TLSPrivateKeyKey, corev1.TLSPrivateKeyKey, "does not belong to the certificate"},
		{previousCertificateKey, corev1.TLSCertKey, "previous.crt and previous.key: read the key"},
	} {
		t.Run(fmt.Sprintf("%s from %q", test.key, test.from), func(t *testing.T) {
			data := s.secret().Data
			data[test.key] = []byte("garbage")
			if test.from != "" {
				data[test.key] = other.secret().Data[test.from]
			}
			if _, err := parseSecret(data); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}

// Two replicas that both find no Secret create only one.
func TestOnlyOneReplicaMakesTheAuthority(t *testing.T) {
	s := newSite(t)
	one := s.replica()
	s.reconcile(one)
	// Like the cache of a replica that has not received the Secret yet.
	blind := s.replica()
	blind.Client = notFound{Client: s.client}
	before := s.secret()
	if _, err := blind.Reconcile(t.Context(), ctrl.Request{}); err != nil {
		t.Fatal(err)
	}
	if after := s.secret(); after.ResourceVersion != before.ResourceVersion {
		t.Error("the second replica has replaced the authority of the first")
	}
	if blind.Source.current() != nil {
		t.Error("the second replica serves a certificate of an authority that nobody has")
	}
}

// It is not an error if somebody else changes or deletes a webhook configuration at the same time, because its next event
// triggers another reconcile. Anything else is an error.
func TestTrustThatCannotBeWritten(t *testing.T) {
	name := admissionregistrationv1.Resource("validatingwebhookconfigurations")
	for _, test := range []struct {
		err   error
		fault bool
	}{
		{apierrors.NewConflict(name, "validating", nil), false},
		{apierrors.NewNotFound(name, "validating"), false},
		{apierrors.NewForbidden(name, "validating", nil), true},
	} {
		s := newSite(t)
		one := s.replica()
		one.Client = interceptor.NewClient(s.client, interceptor.Funcs{
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				return test.err
			},
		})
		if _, err := one.Reconcile(t.Context(), ctrl.Request{}); (err != nil) != test.fault {
			t.Errorf("%v: Reconcile() = %v, want an error: %t", test.err, err, test.fault)
		}
	}
}

// notFound finds no Secret.
type notFound struct{ client.Client }

func (n notFound) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, ok := object.(*corev1.Secret); ok {
		return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
	}
	return n.Client.Get(ctx, key, object, options...)
}
