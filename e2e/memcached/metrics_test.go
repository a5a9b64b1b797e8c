package memcached

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// The certificate is the one that ServiceMonitors check: of the operator's authority, for the Service of the metrics.
func TestMetricsAccess(t *testing.T) {
	memcached.Feature("metrics").
		WithLabel("contract", "manager").
		Setup(needsWebhooks).
		Assess("are for those who may read them, over HTTPS", func(ctx context.Context, s *framework.Scope) {
			scraper := newScraper(ctx, s)
			reader := metricsAccess(ctx, s, scraper, "https://"+metricsAddress(s))
			// The server says that it speaks HTTPS and hangs up, in time or too early to be heard.
			if code, _, err := get(ctx, scraper, "http://"+metricsAddress(s), token(ctx, s, reader)); err == nil && code != http.StatusBadRequest {
				s.Errorf("over HTTP, an account with the permission gets %d", code)
			}
		}).
		Test(t)
}

// metricsAccess asks for metrics without a token, as an account without the permission and as one with it, which it returns.
func metricsAccess(ctx context.Context, s *framework.Scope, scraper *http.Client, server string) (reader *corev1.ServiceAccount) {
	s.Helper()
	unbound, reader := newAccount(ctx, s, s.NewName("unbound")), newAccount(ctx, s, s.NewName("reader"))
	mayReadMetrics(ctx, s, reader)

	for _, request := range []struct {
		who, token string
		code       int
		says       string
	}{
		{"no token", "", http.StatusUnauthorized, ""},
		{"an account without the permission", token(ctx, s, unbound), http.StatusForbidden, ""},
		{"an account with the permission", token(ctx, s, reader), http.StatusOK, "controller_runtime_reconcile_total"},
	} {
		code, body, err := get(ctx, scraper, server, request.token)
		if err != nil {
			s.Fatalf("%s: %v", request.who, err)
		}
		if code != request.code || !strings.Contains(body, request.says) {
			s.Errorf("%s gets %d, want %d with %q:\n%.200s", request.who, code, request.code, request.says, body)
		}
	}
	return reader
}

// TestMetrics owns the operator, whose counters begin with its process, and the cluster: it counts all that the operator writes.
func TestMetrics(t *testing.T) {
	type measured struct {
		began            time.Time
		since            audit.Mark
		scrape           func(context.Context) (map[string]float64, error)
		served, degraded *cachev1alpha1.Memcached
	}
	feature := memcached.Feature("metrics' values").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "operator").
		Setup(needsWebhooks)
	framework.Given(feature, func(ctx context.Context, s *framework.Scope) measured {
		framework.WaitForNone(ctx, s, &cachev1alpha1.MemcachedList{}) // of the features before, in whose namespaces it might write
		m := measured{began: time.Now(), since: s.Mark()}
		restart(ctx, s)
		m.scrape = scraping(ctx, s)
		m.degraded = create(ctx, inNamespace(s, namespaceWithout(ctx, s, "count/deployments.apps")), s.NewName("degraded"), s.Size(1, 3))
		m.served = create(ctx, s, s.NewName("served"), s.Size(1, 2))
		return m
	}).
		Assess("show the size and the conditions of each Memcached", func(ctx context.Context, s *framework.Scope, m measured) {
			settled(ctx, s, m.served)
			framework.WaitForMetrics(ctx, s, m.scrape, of(m.served, all(m.served)))
			resize(ctx, s, m.served, s.Size(3, 5))
			settled(ctx, s, m.served)
			framework.WaitForMetrics(ctx, s, m.scrape, And(of(m.served, all(m.served)), of(m.degraded, gauges(m.degraded, 0, 0, 0, 1))))
		}).
		Assess("count what the API server was made to write, and each way to Available", func(ctx context.Context, s *framework.Scope, m measured) {
			barrier(ctx, s)
			written := framework.VerifyWrites(ctx, s, math.MaxInt, framework.Writes{Log: s.Audit, Since: m.since, User: s.Operator.UserName(), Filters: []audit.Filter{granted}})
			want := counters(written)
			for name, count := range want {
				if count == 0 && name != takeOvers {
					s.Errorf("%s: expected writes to count", name)
				}
			}
			want["memcached_operator_time_to_available_seconds_count"] = 2 // served, and the barrier's canary
			framework.WaitForMetrics(ctx, s, m.scrape, WithTransform(func(samples map[string]float64) map[string]float64 {
				return only(samples, func(name string) bool { _, wanted := want[name]; return wanted })
			}, Equal(want)))
			framework.WaitForMetrics(ctx, s, m.scrape, HaveKeyWithValue("memcached_operator_time_to_available_seconds_sum",
				And(BeNumerically(">", 0), BeNumerically("<", 2*time.Since(m.began.Truncate(time.Second)).Seconds()))))
		}).
		Assess("forget a Memcached that is gone", func(ctx context.Context, s *framework.Scope, m measured) {
			remove(ctx, s, m.served)
			framework.WaitForDeletion(ctx, s, m.served)
			framework.WaitForMetrics(ctx, s, m.scrape, And(of(m.served, BeEmpty()), of(m.degraded, Not(BeEmpty()))))
		}).
		TestAlone(t)
}

// all are the gauges of a Memcached all of whose pods are ready.
func all(mc *cachev1alpha1.Memcached) types.GomegaMatcher { return gauges(mc, *mc.Spec.Size, 1, 0, 0) }

// gauges are what the metrics tell of a Memcached.
func gauges(mc *cachev1alpha1.Memcached, ready int32, available, progressing, degraded float64) types.GomegaMatcher {
	labels := fmt.Sprintf("name=%q, namespace=%q", mc.Name, mc.Namespace)
	return Equal(map[string]float64{
		"memcached_operator_desired_replicas{" + labels + "}":              float64(*mc.Spec.Size),
		"memcached_operator_ready_replicas{" + labels + "}":                float64(ready),
		"memcached_operator_condition{" + labels + `, type="Available"}`:   available,
		"memcached_operator_condition{" + labels + `, type="Progressing"}`: progressing,
		"memcached_operator_condition{" + labels + `, type="Degraded"}`:    degraded,
	})
}

// of judges the samples that are labeled with the Memcached's name and namespace.
func of(mc *cachev1alpha1.Memcached, matcher types.GomegaMatcher) types.GomegaMatcher {
	labels := fmt.Sprintf("name=%q, namespace=%q", mc.Name, mc.Namespace)
	return WithTransform(func(samples map[string]float64) map[string]float64 {
		return only(samples, func(name string) bool { return strings.Contains(name, labels) })
	}, matcher)
}

// only returns the samples whose names pass.
func only(samples map[string]float64, pass func(name string) bool) map[string]float64 {
	passed := map[string]float64{}
	for name, value := range samples {
		if pass(name) {
			passed[name] = value
		}
	}
	return passed
}

const (
	creations    = `memcached_operator_deployment_writes_total{operation="create"}`
	takeOvers    = `memcached_operator_deployment_writes_total{operation="take-over"}`
	applies      = `memcached_operator_deployment_writes_total{operation="apply"}`
	statusWrites = `memcached_operator_status_writes_total`
)

// counters are what the metrics count of these writes.
func counters(written []auditv1.Event) map[string]float64 {
	counted := map[string]float64{creations: 0, takeOvers: 0, applies: 0, statusWrites: 0}
	for i := range written {
		event := &written[i]
		switch {
		case audit.Resource("memcacheds", "status")(event):
			counted[statusWrites]++
		case !audit.Resource("deployments", "")(event):
		case event.Verb == "create":
			counted[creations]++
		case strings.Contains(event.RequestURI, "force=true"): // a server-side apply
			counted[applies]++
		default:
			counted[takeOvers]++
		}
	}
	return counted
}

// granted passes requests that the API server did as it was asked.
func granted(event *auditv1.Event) bool {
	return event.ResponseStatus != nil && event.ResponseStatus.Code < http.StatusMultipleChoices
}

// scraping returns a function that scrapes the operator's metrics as an account that may, and returns the samples by name and
// labels.
func scraping(ctx context.Context, s *framework.Scope) func(context.Context) (map[string]float64, error) {
	s.Helper()
	scraper, reader := newScraper(ctx, s), newAccount(ctx, s, s.NewName("reader"))
	mayReadMetrics(ctx, s, reader)
	bearer := token(ctx, s, reader)
	return func(ctx context.Context) (map[string]float64, error) {
		code, body, err := get(ctx, scraper, "https://"+metricsAddress(s), bearer)
		if err != nil {
			return nil, err
		}
		if code != http.StatusOK {
			return nil, fmt.Errorf("the metrics are answered with %d: %s", code, body)
		}
		return framework.ParseMetrics(strings.NewReader(body))
	}
}

// metricsAddress is where the operator's metrics are. Where it is deployed, newScraper knows the way to its pod.
func metricsAddress(s *framework.Scope) string {
	if s.Deployed != nil {
		return "pod:8443"
	}
	return s.Operator.MetricsAddress()
}

// newScraper returns a client that trusts the operator's authority, for the Service of the metrics.
func newScraper(ctx context.Context, s *framework.Scope) *http.Client {
	s.Helper()
	secret := authority(s)
	if err := s.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
		s.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(secret.Data["ca.crt"])
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: roots, ServerName: "operator-controller-manager-metrics-service." + secret.Namespace + ".svc",
	}}
	if s.Deployed != nil {
		pod := managers(ctx, s)[0]
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return s.Dial(ctx, &pod, 8443), nil }
	}
	return &http.Client{Transport: transport}
}

func newAccount(ctx context.Context, s *framework.Scope, name string) *corev1.ServiceAccount {
	s.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	add(ctx, s, account)
	return account
}

func token(ctx context.Context, s *framework.Scope, account *corev1.ServiceAccount) string {
	s.Helper()
	request := &authenticationv1.TokenRequest{}
	if err := s.Client.SubResource("token").Create(ctx, account, request); err != nil {
		s.Fatal(err)
	}
	return request.Status.Token
}

// mayReadMetrics binds the account to the role for that, and returns when the API server knows: the operator remembers a refusal
// for a while.
func mayReadMetrics(ctx context.Context, s *framework.Scope, account *corev1.ServiceAccount) {
	s.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-reads-metrics"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "operator-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}
	add(ctx, s, binding)
	s.Cleanup(func() {
		if err := s.Client.Delete(context.WithoutCancel(ctx), binding); err != nil {
			s.Error(err)
		}
	})
	untilJudged(ctx, s, authorizationv1.SubjectAccessReviewSpec{
		User:                  "system:serviceaccount:" + account.Namespace + ":" + account.Name,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
	}, true)
}

func get(ctx context.Context, c *http.Client, server, token string) (code int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/metrics", http.NoBody)
	if err != nil {
		return 0, "", err
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
