package memcached

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/suite"
)

// The certificate is the one that ServiceMonitors check: of the operator's authority, for the Service of the metrics.
func TestMetricsAccess(t *testing.T) {
	memcached.Test(t, features.New("metrics").
		WithLabel("contract", "manager").
		Assess("are for those who may read them, over HTTPS", suite.Step(withWebhooks(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			secret := authority(s)
			if err := s.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(secret.Data["ca.crt"])
			scraper := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
				RootCAs: roots, ServerName: "operator-controller-manager-metrics-service." + secret.Namespace + ".svc",
			}}}
			stranger, reader := newAccount(ctx, t, s, "stranger"), newAccount(ctx, t, s, "reader")
			mayReadMetrics(ctx, t, s, reader)

			for _, request := range []struct {
				who, token string
				code       int
				says       string
			}{
				{"nobody", "", http.StatusUnauthorized, ""},
				{"an account without the right", token(ctx, t, s, stranger), http.StatusForbidden, ""},
				{"an account with the right", token(ctx, t, s, reader), http.StatusOK, "controller_runtime_reconcile_total"},
			} {
				code, body, err := get(ctx, t, scraper, "https://"+s.Operator.MetricsAddress(), request.token)
				if err != nil {
					t.Fatalf("%s: %v", request.who, err)
				}
				if code != request.code || !strings.Contains(body, request.says) {
					t.Errorf("%s gets %d, want %d with %q:\n%.200s", request.who, code, request.code, request.says, body)
				}
			}
			// The server says that it speaks HTTPS and hangs up, in time or too early to be heard.
			if code, _, err := get(ctx, t, scraper, "http://"+s.Operator.MetricsAddress(), token(ctx, t, s, reader)); err == nil && code != http.StatusBadRequest {
				t.Errorf("over HTTP, an account with the right gets %d", code)
			}
		}))).
		Feature())
}

func newAccount(ctx context.Context, t *testing.T, s *suite.Scope, name string) *corev1.ServiceAccount {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	if err := s.Client.Create(ctx, account); err != nil {
		t.Fatal(err)
	}
	return account
}

func token(ctx context.Context, t *testing.T, s *suite.Scope, account *corev1.ServiceAccount) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	if err := s.Client.SubResource("token").Create(ctx, account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// mayReadMetrics binds the account to the role for that, and returns when the API server knows: the operator remembers a refusal
// for a while.
func mayReadMetrics(ctx context.Context, t *testing.T, s *suite.Scope, account *corev1.ServiceAccount) {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-reads-metrics"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "operator-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}
	if err := s.Client.Create(ctx, binding); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Client.Delete(context.WithoutCancel(ctx), binding); err != nil {
			t.Error(err)
		}
	})
	// What an API server knows of its roles can't be watched, only asked for; it takes milliseconds.
	for range 10_000 {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:                  "system:serviceaccount:" + account.Namespace + ":" + account.Name,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
		}}
		if err := s.Client.Create(ctx, review); err != nil {
			t.Fatal(err)
		}
		if review.Status.Allowed {
			return
		}
	}
	t.Fatal("the API server does not let the account read metrics")
}

func get(ctx context.Context, t *testing.T, c *http.Client, server, token string) (code int, body string, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}
