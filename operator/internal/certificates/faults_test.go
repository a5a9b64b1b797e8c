package certificates

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// writeFaults are what may happen to a write of a reconcile. Each gets the write, and returns the answer that the reconciler gets.
var writeFaults = map[string]func(write func() error) error{
	"refused": func(func() error) error { return apierrors.NewInternalError(errors.New("etcd is gone")) },
	"conflict": func(func() error) error {
		return apierrors.NewConflict(corev1.Resource("any"), "any", errors.New("changed in the meantime"))
	},
	"lost reply": func(write func() error) error {
		if err := write(); err != nil {
			return err
		}
		return context.DeadlineExceeded
	},
}

// life is what happens to a replica, of whose writes one fails. It lasts a little longer than the validity of the first authority.
type life struct {
	*site
	one *Reconciler
	// failing is the number of the write that fails, from 0, and fault is how. writes counts them.
	failing, writes int
	fault           func(write func() error) error
	// stored are the authorities that the Secret has ever held.
	stored []*x509.Certificate
}

func newLife(t *testing.T, failing int, fault func(write func() error) error) *life {
	t.Helper()
	l := &life{site: newSite(t), failing: failing, fault: fault}
	l.options.AuthorityDuration, l.options.CertificateDuration = 90*time.Minute, 45*time.Minute
	l.one = l.replica()
	do := func(write func() error) error {
		fails := l.writes == l.failing
		l.writes++
		defer l.remember()
		if fails {
			return l.fault(write)
		}
		return write()
	}
	l.one.Client = interceptor.NewClient(l.client, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return do(func() error { return c.Create(ctx, object, options...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			return do(func() error { return c.Update(ctx, object, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return do(func() error { return c.Patch(ctx, object, patch, options...) })
		},
	})
	return l
}

// remember notes which authorities are stored now.
func (l *life) remember() {
	l.t.Helper()
	secret := &corev1.Secret{}
	if err := l.client.Get(l.t.Context(), l.options.Secret, secret); err == nil {
		l.stored = append(l.stored, parseBundle(secret.Data[corev1.TLSCertKey])...)
	}
}

// verify checks what must be true after each reconcile, whatever has failed.
func (l *life) verify(when string) {
	l.t.Helper()
	served := l.one.Source.current()
	isReady := l.one.Source.Check(nil) == nil
	if served == nil {
		if isReady {
			l.t.Fatalf("%s: ready without a certificate", when)
		}
		return
	}
	isStored := false
	for _, authority := range l.stored {
		isStored = isStored || served.Leaf.CheckSignatureFrom(authority) == nil
	}
	if !isStored {
		l.t.Fatalf("%s: the certificate is signed by an authority that was never stored", when)
	}
	if !isReady {
		return
	}
	l.observe()
	for _, lag := range []time.Duration{0, l.options.settling() - time.Second} {
		l.mustServe(when, lag, l.one)
		l.mustServeMetrics(when, lag, l.one)
	}
}

// run runs the life, and returns how many writes it has taken.
func (l *life) run() int {
	l.t.Helper()
	failures := 0
	for end := l.clock.Now().Add(l.options.AuthorityDuration + l.options.AuthorityDuration/6); l.clock.Now().Before(end); {
		when := fmt.Sprintf("at %s", l.clock.Now().Format("15:04:05"))
		before := l.writes
		result, err := l.one.Reconcile(l.t.Context(), ctrl.Request{})
		l.verify(when)
		switch {
		case err != nil:
			// It is tried again. One write has failed, so it is the last error.
			if failures++; failures > 1 {
				l.t.Fatalf("%s: the second error, although only one write has failed: %v", when, err)
			}
		case l.writes > before:
			// The write is an event.
		default:
			// Nothing is due for long, except while a new authority waits for the API servers.
			step := result.RequeueAfter
			if step == time.Minute {
				step = 4 * time.Minute
			}
			l.clock.Step(step)
		}
	}
	if err := l.one.Source.Check(nil); err != nil {
		l.t.Errorf("in the end, it is not ready: %v", err)
	}
	authorities, err := parseSecret(l.secret().Data)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, bundle := range l.bundles() {
		if trusted := parseBundle(bundle); !containsAll(trusted, certificatesOf(authorities)) {
			l.t.Errorf("in the end, a webhook trusts %d authorities, and not all that are stored", len(trusted))
		}
	}
	return l.writes
}

// Each write of a replica's life fails once, in each way: nothing is signed by an authority that isn't stored, the replica is ready only
// when API servers accept its certificate, and in the end, all is as if nothing had failed.
func TestEachWriteFailsOnce(t *testing.T) {
	writes := newLife(t, -1, nil).run()
	// The Secret and both configurations are written at the start, for the second authority, and when the first one has expired.
	if writes != 9 {
		t.Errorf("a life without a failure takes %d writes, want 9", writes)
	}
	for name, fault := range writeFaults {
		for failing := range writes {
			t.Run(fmt.Sprintf("%s, write %d", name, failing), func(t *testing.T) {
				if newLife(t, failing, fault).run() < writes {
					t.Errorf("fewer writes than without a failure")
				}
			})
		}
	}
}
