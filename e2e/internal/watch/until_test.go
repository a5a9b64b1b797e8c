package watch_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

func TestObject(t *testing.T) {
	s := &server{answers: []answer{{err: errors.New("connection refused")}, {version: "10"},
		{events: []apiwatch.Event{event(apiwatch.Added, "a", 11), event(apiwatch.Modified, "a", 12), event(apiwatch.Modified, "a", 13)}}}}
	late := func(p *corev1.Pod) bool { return p.ResourceVersion == "12" }
	got, err := watch.Object(t.Context(), s, &corev1.PodList{}, client.ObjectKey{Namespace: "demo", Name: "a"}, late)
	if err != nil || !late(got) {
		t.Errorf("it returns %v, %v; expected version 12", got, err)
	}
}

func TestUntilReturnsWhyItsContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	s := &server{answers: []answer{{version: "10"}}}
	err := watch.Until(ctx, s, &corev1.PodList{}, func([]client.Object) bool {
		cancel(enough)
		return false
	})
	if !errors.Is(err, enough) {
		t.Errorf("it returns %v, expected %v", err, enough)
	}
}
