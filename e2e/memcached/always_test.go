package memcached

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/record"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// always is what must be true at the end of every feature.
var always = []framework.Invariant{
	framework.TransitionTimes("Memcached", cachev1alpha1.FieldManager,
		cachev1alpha1.ConditionAvailable, cachev1alpha1.ConditionProgressing, cachev1alpha1.ConditionDegraded),
	framework.StoredBefore("Memcached", announced),
	framework.NoKeyInLog(),
	framework.BoundedLog(200, 8), // --max-concurrent-reconciles is 8
	{Claim: "no advice that TestAdvice does not follow", Violations: untried},
}

// advised are the commands that TestAdvice executes, without their arguments.
var advised = []string{"kubectl rollout resume deployment", "kubectl annotate memcached"}

// untried returns the commands that conditions and events advise and that no test executes.
func untried(seen framework.Seen) []string {
	var messages, found []string
	for _, event := range seen.Events {
		messages = append(messages, event.Note)
	}
	for _, v := range seen.Versions {
		conditions, _ := framework.ConditionsOf(v.Object)
		for _, condition := range conditions {
			messages = append(messages, condition.Message)
		}
	}
	for _, message := range messages {
		for _, command := range framework.Advice(message) {
			if !slices.ContainsFunc(advised, func(known string) bool { return strings.HasPrefix(command, known+" ") }) {
				found = append(found, command)
			}
		}
	}
	return found
}

// TestAdvice does what conditions and refusals advise, word by word, and the complaint goes away.
func TestAdvice(t *testing.T) {
	follow := func(ctx context.Context, s *framework.Scope, message, known, name string) {
		s.Helper()
		commands := framework.Advice(message)
		if len(commands) != 1 || !strings.HasPrefix(commands[0], known+" ") {
			s.Fatalf("expected the advice %s …; last seen: %q", known, message)
		}
		s.Kubectl(ctx, strings.ReplaceAll(commands[0], "NAME", name))
	}
	framework.Given(memcached.Feature("advice").WithLabel("contract", "8"), created(1, 2)).
		Assess("of a paused Deployment resumes the rollout", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			settled(ctx, s, mc)
			if err := s.Client.Patch(ctx, deploymentOf(mc), rawMergePatch(`{"spec":{"paused":true}}`)); err != nil {
				s.Fatal(err)
			}
			change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = new(s.Port()) })
			framework.WaitForConditions(ctx, s, mc, framework.Condition{
				Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonDeploymentPaused,
			})
			found := named(s, mc.Name)
			if err := s.Client.Get(ctx, client.ObjectKeyFromObject(found), found); err != nil {
				s.Fatal(err)
			}
			follow(ctx, s, meta.FindStatusCondition(found.Status.Conditions, cachev1alpha1.ConditionDegraded).Message, advised[0], mc.Name)
			settled(ctx, s, mc)
		}).
		Assess("of the refusal to delete what is protected makes it deletable", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			s.NeedsWebhooks()
			patch := `{"metadata":{"annotations":{"` + cachev1alpha1.AnnotationDeletionProtection + `":"true"}}}`
			if err := s.Client.Patch(ctx, mc, rawMergePatch(patch)); err != nil {
				s.Fatal(err)
			}
			err := s.Client.Delete(ctx, mc)
			refused(s, err, "protects the Memcached from deletion")
			follow(ctx, s, err.Error(), advised[1], mc.Name)
			remove(ctx, s, mc)
			framework.WaitForDeletion(ctx, s, mc)
		}).
		Test(t)
}

// announced reports whether this version of a Memcached has the status that the event is about.
func announced(event eventsv1.Event, of record.Version) bool {
	if event.Reason == cachev1alpha1.ReasonUndecodable { // there is no status then
		return true
	}
	conditions, err := framework.ConditionsOf(of.Object)
	if err != nil {
		return false
	}
	degraded := meta.FindStatusCondition(conditions, cachev1alpha1.ConditionDegraded)
	switch {
	case degraded == nil || degraded.Message != event.Note:
		return false
	case event.Type == corev1.EventTypeWarning:
		return degraded.Status == metav1.ConditionTrue && degraded.Reason == event.Reason
	}
	return degraded.Status == metav1.ConditionFalse && event.Reason == cachev1alpha1.ReasonRecovered
}
