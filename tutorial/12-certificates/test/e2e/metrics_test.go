package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
)

// TestMetrics is that of 08-deployment, and checks the certificate.
func TestMetrics(t *testing.T) {
	stage.Feature("metrics").
		Assess("are for those who may read them", withWebhooks(func(ctx context.Context, s *framework.Scope) {
			settled(ctx, s, create(ctx, s, s.NewName("cache"), s.Size(1, 2))) // the operator leads, and so its controller counts
			unbound, reader := account(ctx, s, s.NewName("unbound")), account(ctx, s, s.NewName("reader"))
			mayReadMetrics(ctx, s, reader)
			g := NewWithT(s)
			code, _ := metrics(ctx, s, "")
			g.Expect(code).To(Equal(http.StatusUnauthorized), "expected status 401 without a token")
			code, _ = metrics(ctx, s, token(ctx, s, unbound))
			g.Expect(code).To(Equal(http.StatusForbidden), "expected status 403 for an account without the permission")
			code, body := metrics(ctx, s, token(ctx, s, reader))
			g.Expect(code).To(Equal(http.StatusOK), "expected status 200 for an account with the permission")
			g.Expect(body).To(ContainSubstring("controller_runtime_reconcile_total"))
		})).
		Test(t)
}

// metrics asks the operator for its metrics, and checks its certificate.
func metrics(ctx context.Context, s *framework.Scope, bearer string) (code int, body string) {
	s.Helper()
	secret := authority(s)
	if err := s.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
		s.Fatal(err)
	}
	c := scraper(ctx, s, secret.Data["ca.crt"])
	// A replica may be ready a moment before it serves metrics. There is nothing to watch at a port.
	framework.WaitFor(ctx, s, "the metrics", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+s.Operator.MetricsAddress()+"/metrics", http.NoBody)
		if err != nil {
			return err
		}
		if bearer != "" {
			request.Header.Set("Authorization", "Bearer "+bearer)
		}
		response, err := c.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		code, body = response.StatusCode, string(content)
		return err
	})
	return code, body
}

// scraper returns a client that trusts the authorities, for the Service of the metrics.
func scraper(ctx context.Context, s *framework.Scope, authorities []byte) *http.Client {
	s.Helper()
	namespace, roots := authority(s).Namespace, x509.NewCertPool()
	roots.AppendCertsFromPEM(authorities)
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: roots, ServerName: "operator-controller-manager-metrics-service." + namespace + ".svc",
	}}
	if s.Deployed != nil {
		pods := &corev1.PodList{}
		if err := s.Client.List(ctx, pods, client.InNamespace(namespace)); err != nil || len(pods.Items) == 0 {
			s.Fatalf("looking for the operator's pods: %v", err)
		}
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return s.Dial(ctx, &pods.Items[0], 8443), nil
		}
	}
	return &http.Client{Transport: transport}
}

// account creates a ServiceAccount in the feature's namespace.
func account(ctx context.Context, s *framework.Scope, name string) *corev1.ServiceAccount {
	s.Helper()
	created := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	if err := s.Client.Create(ctx, created); err != nil {
		s.Fatal(err)
	}
	return created
}

// token returns what a pod of the account would have in a file.
func token(ctx context.Context, s *framework.Scope, account *corev1.ServiceAccount) string {
	s.Helper()
	request := &authenticationv1.TokenRequest{}
	if err := s.Client.SubResource("token").Create(ctx, account, request); err != nil {
		s.Fatal(err)
	}
	return request.Status.Token
}

// mayReadMetrics binds the account to the ClusterRole for that, and returns when the API server knows: the operator remembers a
// refusal for a while.
func mayReadMetrics(ctx context.Context, s *framework.Scope, account *corev1.ServiceAccount) {
	s.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-reads-metrics"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "operator-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}
	if err := s.Client.Create(ctx, binding); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := s.Client.Delete(context.WithoutCancel(ctx), binding); err != nil {
			s.Error(err)
		}
	})
	framework.WaitFor(ctx, s, "ServiceAccount "+client.ObjectKeyFromObject(account).String(), func(ctx context.Context) error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:                  "system:serviceaccount:" + account.Namespace + ":" + account.Name,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
		}}
		err := s.Client.Create(ctx, review)
		if err == nil && !review.Status.Allowed {
			err = errors.New("expected that it may read metrics; last seen: it may not")
		}
		return err
	})
}
