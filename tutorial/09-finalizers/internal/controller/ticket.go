package controller

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/operator-testbed/tutorial/09-finalizers/internal/airline"
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
	Status ticketStatus   `json:"status"`
}

// ticketStatus is what the controller says of a ticket.
type ticketStatus struct {
	// Booking is the airline's name for what it has booked.
	Booking string `json:"booking,omitempty"`
	// Conditions has one of type conditionBooked.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// conditionBooked says whether the airline has a booking for the ticket, and if not, or if it should have none any more, why.
const conditionBooked = "Booked"

// The reasons of conditionBooked.
const (
	// reasonBooked goes with True: the flight is booked.
	reasonBooked = "Booked"
	// reasonNotBooked goes with False: the airline has not booked yet. The message says why.
	reasonNotBooked = "BookingFailed"
	// reasonNotCanceled goes with Unknown: the ticket is being deleted, but the airline has not canceled yet. The message says why.
	reasonNotCanceled = "CancellationFailed"
)

// toTicket reads an object of the cache.
func toTicket(object any) (*ticket, error) {
	source, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the cache has a %T, not a ticket", object)
	}
	t := &ticket{}
	return t, runtime.DefaultUnstructuredConverter.FromUnstructured(source.Object, t)
}

// applied is the ticket as the controller applies its status, and nothing else of the ticket.
func applied(t *ticket) (*unstructured.Unstructured, error) {
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&t.Status)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(ticketKind)
	object.SetNamespace(t.Namespace)
	object.SetName(t.Name)
	// With the version that was looked at: an old one does not undo what has been written since, and a ticket that was deleted
	// and created again under the same name does not get its predecessor's status.
	object.SetResourceVersion(t.ResourceVersion)
	object.Object["status"] = status
	return object, nil
}
