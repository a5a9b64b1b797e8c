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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

var ticketKind = schema.GroupVersionKind{Group: "flights.com", Version: "v1", Kind: "FlightTicket"}

var stage = framework.New(framework.Options{
	Name:          "10-finalizers",
	CRDs:          []string{"../../config/crd/bases"},
	Package:       "../../cmd",
	Kustomization: "../../config/default",
	Record:        []schema.GroupVersionKind{ticketKind},
})

func TestMain(m *testing.M) { os.Exit(stage.Run(m)) }

// buy creates a ticket for some from Mumbai to London in the feature's namespace, with these finalizers.
func buy(ctx context.Context, s *framework.Scope, name string, finalizers ...string) *unstructured.Unstructured {
	s.Helper()
	ticket := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"from": "Mumbai", "to": "London", "number": int64(s.Size(1, 10))},
	}}
	ticket.SetGroupVersionKind(ticketKind)
	ticket.SetNamespace(s.Namespace)
	ticket.SetName(name)
	ticket.SetFinalizers(finalizers)
	if err := s.Client.Create(ctx, ticket); err != nil {
		s.Fatalf("creating the ticket %s: %v", name, err)
	}
	s.Cleanup(func() { forget(context.WithoutCancel(ctx), s, client.ObjectKeyFromObject(ticket)) })
	return ticket
}

// forget removes the ticket, whatever its finalizers, or the next feature's airline would be asked to cancel it.
func forget(ctx context.Context, s *framework.Scope, key client.ObjectKey) {
	ctx, cancel := s.Bounded(ctx)
	defer cancel()
	ticket := &unstructured.Unstructured{}
	ticket.SetGroupVersionKind(ticketKind)
	ticket.SetNamespace(key.Namespace)
	ticket.SetName(key.Name)
	err := s.Client.Delete(ctx, ticket)
	if err == nil {
		err = s.Client.Patch(ctx, ticket, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	}
	if client.IgnoreNotFound(err) != nil {
		s.Errorf("removing the ticket %s: %v", key, err)
	}
}

// hasBooking waits until the ticket's status names a booking.
func hasBooking(ctx context.Context, s *framework.Scope, ticket *unstructured.Unstructured) {
	s.Helper()
	framework.WaitForObject(ctx, s, ticket, WithTransform(statusOf, HaveField("Booking", HavePrefix("B-"))))
}

// status is what the operator writes into a ticket.
type status struct{ Booking string }

func statusOf(ticket *unstructured.Unstructured) status {
	booking, _, _ := unstructured.NestedString(ticket.Object, "status", "booking")
	return status{Booking: booking}
}

// fly starts the operator again, with that airline.
func fly(ctx context.Context, s *framework.Scope, d *desk) {
	s.Helper()
	if err := s.Operator.Restart(ctx, runner.WithEnv(fmt.Sprintf("AIRLINE=%s", d.URL))); err != nil {
		s.Fatal(err)
	}
}
