// Package e2e is the suite of this chapter: what its controller does, asserted on a real API server and an airline that is
// part of the test.
package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/operator-testbed/e2e/runner"
	"github.com/example/operator-testbed/e2e/suite"
)

var ticketKind = schema.GroupVersionKind{Group: "flights.com", Version: "v1", Kind: "FlightTicket"}

var stage = suite.New(suite.Options{
	Name:          "02-informer-queue",
	CRDs:          []string{"../../config/crd/bases"},
	Package:       "../../cmd",
	Kustomization: "../../config/default",
	Record:        []schema.GroupVersionKind{ticketKind},
})

func TestMain(m *testing.M) { os.Exit(stage.Run(m)) }

// buy creates a ticket for two from Mumbai to London in the feature's namespace.
func buy(ctx context.Context, t *testing.T, s *suite.Scope, name string) *unstructured.Unstructured {
	t.Helper()
	ticket := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"from": "Mumbai", "to": "London", "number": int64(2)},
	}}
	ticket.SetGroupVersionKind(ticketKind)
	ticket.SetNamespace(s.Namespace)
	ticket.SetName(name)
	if err := s.Client.Create(ctx, ticket); err != nil {
		t.Fatalf("creating the ticket %s: %v", name, err)
	}
	return ticket
}

// hasBooking waits until the ticket's status names a booking.
func hasBooking(ctx context.Context, t *testing.T, s *suite.Scope, ticket *unstructured.Unstructured) {
	t.Helper()
	s.Expect(t).Object(ctx, ticket, WithTransform(statusOf, HaveField("Booking", HavePrefix("B-"))))
}

// status is what the operator writes into a ticket.
type status struct{ Booking string }

func statusOf(ticket *unstructured.Unstructured) status {
	booking, _, _ := unstructured.NestedString(ticket.Object, "status", "booking")
	return status{Booking: booking}
}

// fly starts the operator anew, with that airline.
func fly(ctx context.Context, t *testing.T, s *suite.Scope, d *desk) {
	t.Helper()
	if err := s.Operator.Restart(ctx, runner.WithEnv(fmt.Sprintf("AIRLINE=%s", d.URL))); err != nil {
		t.Fatal(err)
	}
}
