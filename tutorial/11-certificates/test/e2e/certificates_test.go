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
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// TestRotation runs the operator with certificates of seconds, and asks its webhooks all the time, until it serves with a
// certificate of another authority.
func TestRotation(t *testing.T) {
	stage.TestAlone(t, features.New("rotation of certificates").
		Setup(framework.Step(withWebhooks(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			t.Cleanup(func() {
				// The authority of seconds must not be what the next one begins with.
				ctx := context.WithoutCancel(ctx)
				if err := errors.Join(s.Client.Delete(ctx, authority(s)), s.Operator.Restart(ctx)); err != nil {
					t.Error(err)
				}
			})
			if err := s.Operator.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			if err := s.Client.Delete(ctx, authority(s)); err != nil {
				t.Fatal(err)
			}
			restart(ctx, t, s, runner.WithArgs("--webhook-ca-duration=9s", "--webhook-certificate-duration=3s"))
		}))).
		Assess("fails no admission", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			first := authority(s)
			s.Expect(t).Object(ctx, first, HaveField("Data", HaveKey(corev1.TLSCertKey)))

			defer asking(ctx, t, s)()
			second := authority(s)
			s.Expect(t).Patient(framework.Converge).Object(ctx, second, HaveField("Data", HaveKeyWithValue(corev1.TLSCertKey, Not(Equal(first.Data[corev1.TLSCertKey])))))
			untilTrusted(ctx, t, s, second.Data[corev1.TLSCertKey])
		})).
		Feature())
}

// TestLostSecret deletes the Secret with the authority, while a certificate of it is in use.
func TestLostSecret(t *testing.T) {
	stage.TestAlone(t, features.New("a Secret that somebody deletes").
		Setup(framework.Step(withWebhooks(ownOperator))).
		Assess("is replaced, and fails no admission", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			first := authority(s)
			s.Expect(t).Object(ctx, first, HaveField("Data", HaveKey(corev1.TLSCertKey)))
			if err := s.Client.Delete(ctx, authority(s)); err != nil {
				t.Fatal(err)
			}
			second := authority(s)
			s.Expect(t).Object(ctx, second, HaveField("Data", HaveKeyWithValue(corev1.TLSCertKey, Not(Equal(first.Data[corev1.TLSCertKey])))))
			configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "operator-validating-webhook-configuration"}}
			s.Expect(t).Object(ctx, configuration, HaveField("Webhooks", HaveEach(HaveField("ClientConfig.CABundle", ContainSubstring(string(second.Data[corev1.TLSCertKey]))))))
			asking(ctx, t, s)()
		})).
		Feature())
}

// withWebhooks is a step that needs webhooks which are called.
func withWebhooks(step framework.StepFunc) framework.StepFunc {
	return func(ctx context.Context, t *testing.T, s *framework.Scope) {
		t.Helper()
		if !s.Webhooks {
			t.Skip("the API server of this cluster can't call webhooks of a process on this machine")
		}
		step(ctx, t, s)
	}
}

// asking asks the webhooks again and again, until stop is called and it has asked often enough to prove something.
func asking(ctx context.Context, t *testing.T, s *framework.Scope) (stop func()) {
	const enough = 50
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n, last := 0, false; n < enough || !last; n++ {
			if err := s.Client.Create(ctx, newMemcached(s, "asked", 1), client.DryRunAll); err != nil {
				t.Errorf("admission %d failed: %v", n, err)
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
func untilTrusted(ctx context.Context, t *testing.T, s *framework.Scope, authority []byte) {
	t.Helper()
	url := "https://" + s.Operator.MetricsAddress() + "/metrics"
	s.Expect(t).Until(ctx, "the metrics", func(ctx context.Context) error {
		trusting := scraper(ctx, t, s, authority)
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
