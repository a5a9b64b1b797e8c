package embedded_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/tier"
)

// TestAuditLog writes what operators write, and finds each request once in the log, with its body where tests need it.
func TestAuditLog(t *testing.T) {
	tier.All(t)
	b := sharedBed(t)
	ctx, namespace := t.Context(), b.namespace(t)
	const admin = "testbed-admin"
	log := audit.Open(b.cluster.AuditLog())

	owner := custom(namespace, "Owner", "one")
	d := deployment(namespace, "one", 1)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "one"}, StringData: map[string]string{"password": "very-secret"}}
	b.create(t, owner)
	b.create(t, d)
	b.create(t, secret)
	b.create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "one"}, Data: map[string]string{"color": "red"}})
	b.patch(t, d, `{"spec":{"replicas":2}}`)
	if err := b.Status().Patch(ctx, owner, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"ready":2}}`))); err != nil {
		t.Fatal(err)
	}
	if err := b.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(ctx, owner); err != nil {
		t.Fatal(err)
	}

	for _, want := range []struct {
		verb, resource, subresource string
		body                        string // part of the request's; empty: there must be none
	}{
		{"create", "owners", "", `"kind":"Owner"`},
		{"create", "deployments", "", `"image":"memcached:1.6"`},
		{"create", "secrets", "", ""},
		{"create", "configmaps", "", `"color":"red"`},
		{"patch", "deployments", "", `"replicas":2`},
		{"patch", "owners", "status", `"ready":2`},
		{"get", "deployments", "", ""},
		{"delete", "owners", "", `"kind":"DeleteOptions"`},
	} {
		name := strings.TrimSuffix(want.verb+" "+want.resource+"/"+want.subresource, "/")
		filters := []audit.Filter{audit.InNamespace(namespace), audit.Resource(want.resource, want.subresource), verb(want.verb)}
		entries := framework.Writes{Log: log, User: admin, Filters: filters}
		if want.verb != "get" {
			framework.WaitForRequest(ctx, b.scope(t), framework.RequestInput{
				What:   name,
				Writes: entries,
				Match:  audit.All(),
			})
		}
		events, err := log.Since(audit.Mark{}, append(filters, audit.ByUser(admin))...)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) != 1 {
			t.Errorf("%s: expected one event for one request, got %d:\n%s", name, len(events), audit.Describe(events))
			continue
		}
		body := ""
		if events[0].RequestObject != nil {
			body = string(events[0].RequestObject.Raw)
		}
		if !strings.Contains(body, want.body) || want.body == "" && body != "" {
			t.Errorf("%s: expected a body with %q, got %q", name, want.body, body)
		}
	}

	// What an operator reads of other people's writes is there too, and by name.
	framework.WaitForDeployment(ctx, b.scope(t), client.ObjectKeyFromObject(d), 2)
	for user, resource := range map[string]string{"kwok": "pods", "system:kube-controller-manager": "deployments"} {
		framework.WaitForRequest(ctx, b.scope(t), framework.RequestInput{
			What: "status of " + resource + " with a body",
			Writes: framework.Writes{Log: log, User: user, Filters: []audit.Filter{
				audit.InNamespace(namespace), audit.Resource(resource, "status"),
			}},
			Match: func(e *auditv1.Event) bool { return e.RequestObject != nil },
		})
	}
}

func verb(verb string) audit.Filter {
	return func(e *auditv1.Event) bool { return e.Verb == verb }
}
