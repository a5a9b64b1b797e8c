// Package controller books a flight for each FlightTicket, and cancels it when the ticket is deleted.
package controller

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	flightsv1 "github.com/example/operator-testbed/tutorial/10-finalizers/api/v1"
	"github.com/example/operator-testbed/tutorial/10-finalizers/internal/airline"
)

// finalizer delays the deletion of a ticket for as long as the airline may have a booking for it.
const finalizer = "flights.com/booking"

// FlightTicketReconciler books a flight for each FlightTicket, and cancels it when the ticket is deleted.
type FlightTicketReconciler struct {
	// Client reads from a cache that watches keep up to date, and writes to the API server.
	client.Client

	// Airline books and cancels.
	Airline airline.Client
}

// +kubebuilder:rbac:groups=flights.com,resources=flighttickets,verbs=list;watch;patch
// +kubebuilder:rbac:groups=flights.com,resources=flighttickets/status,verbs=patch

// Reconcile ensures that one ticket has a booking, or no longer has one if it is being deleted.
func (r *FlightTicketReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	ticket := &flightsv1.FlightTicket{}
	if err := r.Get(ctx, request.NamespacedName, ticket); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) // without its finalizer, a deleted ticket has no booking
	}
	if !ticket.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.cancel(ctx, ticket)
	}
	return ctrl.Result{}, r.book(ctx, ticket)
}

// book ensures that the ticket has the finalizer first, and then a booking.
func (r *FlightTicketReconciler) book(ctx context.Context, ticket *flightsv1.FlightTicket) error {
	before := ticket.DeepCopy()
	if controllerutil.AddFinalizer(ticket, finalizer) {
		return r.Patch(ctx, ticket, ifUnchanged(before)) // this changes the ticket, which triggers another reconcile
	}
	if ticket.Status.Booking != "" {
		return nil
	}
	flight := airline.Flight{From: ticket.Spec.From, To: ticket.Spec.To, Number: int(ticket.Spec.Number)}
	booking, err := r.Airline.Book(ctx, string(ticket.UID), flight)
	if err != nil {
		return errors.Join(err, r.report(ctx, ticket, "", metav1.ConditionFalse, flightsv1.ReasonBookingFailed, err.Error()))
	}
	log.FromContext(ctx).Info("Booked", "booking", booking)
	return r.report(ctx, ticket, booking, metav1.ConditionTrue, flightsv1.ReasonBooked, booking)
}

// cancel cancels the booking of a ticket that is being deleted, and then removes the finalizer.
func (r *FlightTicketReconciler) cancel(ctx context.Context, ticket *flightsv1.FlightTicket) error {
	if !controllerutil.ContainsFinalizer(ticket, finalizer) {
		return nil // never booked, or already canceled: another program's finalizer keeps the ticket
	}
	// Even without a booking in the status, the airline may have booked the flight, because its response may have been lost.
	if err := r.Airline.Cancel(ctx, string(ticket.UID)); err != nil {
		return errors.Join(err, r.report(ctx, ticket, ticket.Status.Booking, metav1.ConditionUnknown, flightsv1.ReasonCancellationFailed, err.Error()))
	}
	log.FromContext(ctx).Info("Canceled", "booking", ticket.Status.Booking)
	before := ticket.DeepCopy()
	controllerutil.RemoveFinalizer(ticket, finalizer)
	return client.IgnoreNotFound(r.Patch(ctx, ticket, ifUnchanged(before))) // the cache may not know yet that the ticket is gone
}

// report writes the booking and the condition Booked into the ticket's status, if the condition changes. The message must be the same at
// each attempt that fails for the same reason: each change triggers another reconcile at once, however long the queue would wait.
func (r *FlightTicketReconciler) report(ctx context.Context, ticket *flightsv1.FlightTicket, booking string, status metav1.ConditionStatus, reason, message string) error {
	before := ticket.DeepCopy()
	ticket.Status.Booking = booking
	changed := meta.SetStatusCondition(&ticket.Status.Conditions, metav1.Condition{
		Type: flightsv1.ConditionBooked, Status: status, Reason: reason, Message: message, ObservedGeneration: ticket.Generation,
	})
	if !changed {
		return nil
	}
	return r.Status().Patch(ctx, ticket, ifUnchanged(before))
}

// ifUnchanged returns a patch that changes the ticket from what it was before, unless it has changed since then on the API server. A merge
// patch replaces lists as a whole, so without this check it could undo changes of other programs.
func ifUnchanged(before *flightsv1.FlightTicket) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// SetupWithManager makes the manager call Reconcile for a ticket whenever it changes.
func (r *FlightTicketReconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&flightsv1.FlightTicket{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 2}). // while one waits for the airline, the other serves the next ticket
		Complete(r)
}
