package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// TestRotation runs the operator with certificates of seconds, and asks its webhooks all the time, until it serves with a
// certificate of another authority.
func TestRotation(t *testing.T) {
	stage.Feature("rotation of certificates").
		Setup(withWebhooks(func(ctx context.Context, s *framework.Scope) {
			s.Cleanup(func() {
				// The authority of seconds must not be what the next one begins with. An operator that still runs would store another.
				ctx := context.WithoutCancel(ctx)
				if err := errors.Join(s.Operator.Stop(ctx), s.Client.Delete(ctx, authority(s)), s.Operator.Restart(ctx)); err != nil {
					s.Error(err)
				}
			})
			if err := s.Operator.Stop(ctx); err != nil {
				s.Fatal(err)
			}
			if err := s.Client.Delete(ctx, authority(s)); err != nil {
				s.Fatal(err)
			}
			// A certificate is renewed five seconds before it expires. An operator that stands still for longer fails admissions, as it would
			// with certificates of a year.
			restart(ctx, s, runner.WithArgs("--webhook-ca-duration=30s", "--webhook-certificate-duration=15s"))
		})).
		Assess("fails no admission", func(ctx context.Context, s *framework.Scope) {
			first := authority(s)
			framework.WaitForObject(ctx, s, first, HaveField("Data", HaveKey(corev1.TLSCertKey)))

			defer asking(ctx, s)()
			second := authority(s)
			framework.WaitForObject(ctx, s.Patient(framework.Converge), second, HaveField("Data", HaveKeyWithValue(corev1.TLSCertKey, Not(Equal(first.Data[corev1.TLSCertKey])))))
			untilTrusted(ctx, s, second.Data[corev1.TLSCertKey])
		}).
		TestAlone(t)
}

// TestLostSecret deletes the Secret with the authority, while a certificate of it is in use.
func TestLostSecret(t *testing.T) {
	stage.Feature("a deleted Secret").
		Setup(withWebhooks(ownOperator)).
		Assess("is replaced, and fails no admission", func(ctx context.Context, s *framework.Scope) {
			first := authority(s)
			framework.WaitForObject(ctx, s, first, HaveField("Data", HaveKey(corev1.TLSCertKey)))
			if err := s.Client.Delete(ctx, authority(s)); err != nil {
				s.Fatal(err)
			}
			second := authority(s)
			framework.WaitForObject(ctx, s, second, HaveField("Data", HaveKeyWithValue(corev1.TLSCertKey, Not(Equal(first.Data[corev1.TLSCertKey])))))
			configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "operator-validating-webhook-configuration"}}
			framework.WaitForObject(ctx, s, configuration, HaveField("Webhooks", HaveEach(HaveField("ClientConfig.CABundle", ContainSubstring(string(second.Data[corev1.TLSCertKey]))))))
			asking(ctx, s)()
		}).
		TestAlone(t)
}

// withWebhooks is a step that needs webhooks which are called.
func withWebhooks(step framework.Step) framework.Step {
	return func(ctx context.Context, s *framework.Scope) {
		s.Helper()
		if !s.Webhooks {
			s.Skip("the API server of this cluster can't call webhooks of a process on this machine")
		}
		step(ctx, s)
	}
}

// asking asks the webhooks again and again, until stop is called and it has asked often enough to prove something.
func asking(ctx context.Context, s *framework.Scope) (stop func()) {
	const enough = 50
	stopped, done := make(chan struct{}), make(chan struct{})
	asked := newMemcached(s, s.NewName("asked"), s.Size(1, 2))
	go func() {
		defer close(done)
		for n, last := 0, false; n < enough || !last; n++ {
			if err := s.Client.Create(ctx, asked.DeepCopy(), client.DryRunAll); err != nil {
				s.Errorf("admission %d failed: %v", n, err)
				return
			}
			select {
			case <-stopped:
				last = true
			default:
			}
		}
	}()
	return func() {
		close(stopped)
		<-done
	}
}

// authority refers to the Secret that holds the operator's certificate authority.
func authority(s *framework.Scope) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: leaseOf(s).Namespace, Name: "operator-webhook-ca"}}
}

// untilTrusted asks for metrics until they come with a certificate of the authority. There is nothing to watch at a port.
func untilTrusted(ctx context.Context, s *framework.Scope, authority []byte) {
	s.Helper()
	url := "https://" + s.Operator.MetricsAddress() + "/metrics"
	framework.WaitFor(ctx, s, "the metrics", func(ctx context.Context) error {
		trusting := scraper(ctx, s, authority)
		trusting.Transport.(*http.Transport).DisableKeepAlives = true
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		response, err := trusting.Do(request)
		if err != nil {
			return fmt.Errorf("expected a certificate of the new authority; last seen: %w", err)
		}
		return response.Body.Close()
	})
}
