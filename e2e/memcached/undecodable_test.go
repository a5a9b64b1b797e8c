package memcached

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestUndecodable owns the cluster, whose definition it loosens. A Memcached that no Go client can decode is refused. One that got in
// anyway is named, and keeps the operator from no other one, whether it got in before the operator's start or after it.
func TestUndecodable(t *testing.T) {
	type memcacheds struct{ bad, served *cachev1alpha1.Memcached }
	feature := memcached.Feature("a Memcached that can't be decoded").
		WithLabel("contract", "8").
		WithLabel("disruptive", "cluster").
		Setup(ownOperator)
	framework.Given(feature, func(ctx context.Context, s *framework.Scope) memcacheds {
		m := memcacheds{bad: create(ctx, s, s.NewName("bad"), s.Size(1, 2)), served: create(ctx, s, s.NewName("served"), s.Size(1, 2))}
		settled(ctx, s, m.bad)
		settled(ctx, s, m.served)
		s.Cleanup(func() { _ = setConditions(context.WithoutCancel(ctx), s, m.bad, "null") }) // for an operator that it keeps from starting
		return m
	}).
		Assess("is refused by the definition", func(ctx context.Context, s *framework.Scope, m memcacheds) {
			for _, time := range undecodableTimes {
				if err := setConditions(ctx, s, m.bad, foreign(time)); !apierrors.IsInvalid(err) {
					s.Fatalf("expected the status to be refused because of the time %s; last seen: %v", time, err)
				}
			}
		}).
		Assess("and where a laxer one lets it pass, is named in an event and in the log", func(ctx context.Context, s *framework.Scope, m memcacheds) {
			tighten := loosen(ctx, s, func(schema *apiextensionsv1.JSONSchemaProps) {
				conditions := schema.Properties["status"].Properties["conditions"]
				conditions.XValidations = nil
				schema.Properties["status"].Properties["conditions"] = conditions
			})
			framework.WaitFor(ctx, s, "that the laxer definition lets the status of "+m.bad.Name+" pass", func(ctx context.Context) error {
				return setConditions(ctx, s, m.bad, foreign(undecodableTimes[0]))
			})
			tighten()
			framework.WaitForEvent(ctx, s, m.bad, framework.Event{
				Type: corev1.EventTypeWarning, Reason: cachev1alpha1.ReasonUndecodable, Note: "2024-01-01t00:00:00z",
			})
			framework.WaitFor(ctx, s, "the operator's log", func(context.Context) error {
				log, err := os.ReadFile(s.Operator.LogFile())
				if err == nil && !strings.Contains(string(log), m.bad.Namespace+"/"+m.bad.Name+" can't be decoded") {
					err = errors.New("expected it to name the Memcached that can't be decoded; last seen: it does not")
				}
				return err
			})
		}).
		Assess("does not keep the others from being served", func(ctx context.Context, s *framework.Scope, m memcacheds) {
			resize(ctx, s, m.served, s.Size(3, 5))
			settled(ctx, s, m.served)
			settled(ctx, s, create(ctx, s, s.NewName("later"), s.Size(1, 2)))
		}).
		Assess("nor after a restart", func(ctx context.Context, s *framework.Scope, m memcacheds) {
			restart(ctx, s)
			resize(ctx, s, m.served, s.Size(1, 2))
			settled(ctx, s, m.served)
			settled(ctx, s, create(ctx, s, s.NewName("later"), s.Size(1, 2)))
		}).
		Assess("is counted in a metric", func(ctx context.Context, s *framework.Scope, m memcacheds) {
			needsWebhooks(ctx, s)
			framework.WaitForMetrics(ctx, s, scraping(ctx, s), of(m.bad, Equal(map[string]float64{
				fmt.Sprintf("memcached_operator_undecodable{name=%q, namespace=%q}", m.bad.Name, m.bad.Namespace): 1,
			})))
		}).
		Assess("and is served again when it is repaired", func(ctx context.Context, s *framework.Scope, m memcacheds) {
			if err := setConditions(ctx, s, m.bad, "null"); err != nil {
				s.Fatal(err)
			}
			settled(ctx, s, m.bad)
		}).
		TestAlone(t)
}

// undecodableTimes are JSON values that the format date-time allows, and that no Go client can decode.
var undecodableTimes = []string{`"2024-01-01t00:00:00z"`, `"2024-01-01T00:00:00+99:99"`, `["2024-01-01T00:00:00Z"]`}

// foreign returns conditions with one of another program's, whose transition time is this JSON.
func foreign(time string) string {
	return `[{"type":"Foreign","status":"True","reason":"Set","message":"","lastTransitionTime":` + time + `}]`
}

// setConditions replaces the conditions in the status of a Memcached by JSON, without decoding the result.
func setConditions(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, conditions string) error {
	raw := &unstructured.Unstructured{}
	raw.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind("Memcached"))
	raw.SetNamespace(mc.Namespace)
	raw.SetName(mc.Name)
	return s.Client.Status().Patch(ctx, raw, rawMergePatch(`{"status":{"conditions":`+conditions+`}}`))
}
