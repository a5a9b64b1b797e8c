package demo

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// A status is not shown as the result while the operator is not ready, and the error says what is missing.
func TestBelievable(t *testing.T) {
	now := State{Memcached: &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: "sessions"}}}
	if err := believable(t.Context(), now, func(context.Context) error { return nil }); err != nil {
		t.Errorf("error = %v with an operator that is ready", err)
	}
	reason := errors.New("connection refused")
	err := believable(t.Context(), now, func(context.Context) error { return reason })
	if !errors.Is(err, reason) || !strings.Contains(err.Error(), "the operator is not ready") {
		t.Errorf("error = %v, want one that says that the operator is not ready, and why", err)
	}
}
