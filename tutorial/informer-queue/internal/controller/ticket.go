package controller

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/operator-testbed/tutorial/informer-queue/internal/airline"
)

// tickets is the resource that the controller is about, and ticketKind the kind of its objects.
var (
	tickets    = schema.GroupVersionResource{Group: "flights.com", Version: "v1", Resource: "flighttickets"}
	ticketKind = tickets.GroupVersion().WithKind("FlightTicket")
)

// ticket is what the controller reads of a FlightTicket.
type ticket struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec   airline.Flight `json:"spec"`
	Status struct {
		Booking string `json:"booking"`
	} `json:"status"`
}

// toTicket reads an object of the cache.
func toTicket(object any) (*ticket, error) {
	source, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the cache has a %T, not a ticket", object)
	}
	t := &ticket{}
	return t, runtime.DefaultUnstructuredConverter.FromUnstructured(source.Object, t)
}

// booked is the ticket's status as the controller applies it, and nothing else of the ticket.
func booked(t *ticket, booking string) *unstructured.Unstructured {
	applied := &unstructured.Unstructured{}
	applied.SetGroupVersionKind(ticketKind)
	applied.SetNamespace(t.Namespace)
	applied.SetName(t.Name)
	// With the version that was looked at: a ticket that was deleted and created again under the same name does not get its
	// predecessor's booking. (A UID would not do: the API server ignores it in a write to a custom resource's status.)
	applied.SetResourceVersion(t.ResourceVersion)
	applied.Object["status"] = map[string]any{"booking": booking}
	return applied
}
