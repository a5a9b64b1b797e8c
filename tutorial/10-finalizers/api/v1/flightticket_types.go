package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FlightTicketSpec is what a user asks for: a flight.
type FlightTicketSpec struct {
	// from is where the flight begins.
	// +kubebuilder:validation:MinLength=1
	// +required
	From string `json:"from"`

	// to is where it ends.
	// +kubebuilder:validation:MinLength=1
	// +required
	To string `json:"to"`

	// number is how many people fly.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	// +required
	Number int32 `json:"number"`
}

// ConditionBooked is the type of the condition that says whether the airline has a booking for the ticket, and if not, why.
const ConditionBooked = "Booked"

// The reasons of ConditionBooked.
const (
	// ReasonBooked goes with True: the flight is booked.
	ReasonBooked = "Booked"
	// ReasonBookingFailed goes with False: the airline has not booked yet. The message says why.
	ReasonBookingFailed = "BookingFailed"
	// ReasonCancellationFailed goes with Unknown: the ticket is being deleted, but the airline has not canceled yet. The message says why.
	ReasonCancellationFailed = "CancellationFailed"
)

// FlightTicketStatus is what the operator has done.
type FlightTicketStatus struct {
	// booking is the airline's name for what it has booked.
	// +optional
	Booking string `json:"booking,omitempty"`

	// conditions has one of type Booked, which says whether the flight is booked, and why not.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:XValidation:rule="self.all(c, c.lastTransitionTime >= timestamp('0001-01-01T00:00:00Z'))",message="lastTransitionTime must be a time such as 2006-01-02T15:04:05Z"
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// FlightTicket is a flight that the operator books, and cancels when the ticket is deleted.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=ft
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="From",type=string,JSONPath=".spec.from"
// +kubebuilder:printcolumn:name="To",type=string,JSONPath=".spec.to"
// +kubebuilder:printcolumn:name="Number",type=integer,JSONPath=".spec.number"
// +kubebuilder:printcolumn:name="Booking",type=string,JSONPath=".status.booking"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Booked")].reason`
type FlightTicket struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of every object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the flight to book.
	// +required
	Spec FlightTicketSpec `json:"spec"`

	// status is what the operator has done.
	// +optional
	Status FlightTicketStatus `json:"status,omitzero"`
}

// FlightTicketList is a list of FlightTickets.
//
// +kubebuilder:object:root=true
type FlightTicketList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []FlightTicket `json:"items"`
}
