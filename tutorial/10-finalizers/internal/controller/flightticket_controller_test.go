package controller

import (
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	flightsv1 "github.com/example/operator-testbed/tutorial/10-finalizers/api/v1"
	"github.com/example/operator-testbed/tutorial/10-finalizers/internal/airline"
)

// foreign is another program's finalizer.
const foreign = "example.com/archive"

// newTicket returns a ticket as the API server returns it.
func newTicket(finalizers ...string) *flightsv1.FlightTicket {
	return &flightsv1.FlightTicket{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "ticket", UID: "1234", Finalizers: finalizers},
		Spec:       flightsv1.FlightTicketSpec{From: "Mumbai", To: "London", Number: 2},
	}
}

// newReconciler returns a reconciler with a fake API server that has the ticket, and an airline, with the names of what it books and cancels.
func newReconciler(t *testing.T, ticket *flightsv1.FlightTicket) (r *FlightTicketReconciler, booked, canceled *[]string) {
	t.Helper()
	booked, canceled = &[]string{}, &[]string{}
	server := httptest.NewServer(airline.NewServer(
		func(b airline.Booking) { *booked = append(*booked, b.Name) },
		func(b airline.Booking) { *canceled = append(*canceled, b.Name) },
	))
	t.Cleanup(server.Close)
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(flightsv1.AddToScheme(scheme)).To(Succeed())
	cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(ticket).WithStatusSubresource(ticket).Build()
	return &FlightTicketReconciler{Client: cluster, Airline: airline.Client{URL: server.URL}}, booked, canceled
}

func TestReconcileAddsTheFinalizerBeforeItBooks(t *testing.T) {
	g := NewWithT(t)
	ticket := newTicket(foreign)
	r, booked, _ := newReconciler(t, ticket)
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(ticket)}

	g.Expect(r.Reconcile(t.Context(), request)).To(BeZero())
	g.Expect(r.Get(t.Context(), request.NamespacedName, ticket)).To(Succeed())
	g.Expect(ticket.Finalizers).To(HaveExactElements(foreign, finalizer))
	g.Expect(*booked).To(BeEmpty())

	g.Expect(r.Reconcile(t.Context(), request)).To(BeZero())
	g.Expect(r.Get(t.Context(), request.NamespacedName, ticket)).To(Succeed())
	g.Expect(ticket.Status).To(And(
		HaveField("Booking", "B-1"),
		HaveField("Conditions", HaveExactElements(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", flightsv1.ReasonBooked))))))
	g.Expect(*booked).To(HaveLen(1))
}

func TestReconcileCancelsAndLeavesForeignFinalizers(t *testing.T) {
	g := NewWithT(t)
	ticket := newTicket(finalizer, foreign)
	r, _, canceled := newReconciler(t, ticket)
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(ticket)}
	g.Expect(r.Reconcile(t.Context(), request)).To(BeZero())
	g.Expect(r.Delete(t.Context(), ticket)).To(Succeed())

	for range 2 { // the second time, there is nothing left to do
		g.Expect(r.Reconcile(t.Context(), request)).To(BeZero())
		g.Expect(r.Get(t.Context(), request.NamespacedName, ticket)).To(Succeed())
		g.Expect(ticket.Finalizers).To(HaveExactElements(foreign))
		g.Expect(*canceled).To(HaveExactElements("B-1"))
	}
}

func TestReconcileOfWhatIsGoneIsNoError(t *testing.T) {
	r, _, _ := newReconciler(t, newTicket())
	request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: "gone"}}
	NewWithT(t).Expect(r.Reconcile(t.Context(), request)).To(BeZero())
}

// A finalizer that another program adds after the operator has read the ticket is not lost.
func TestOutdatedTicketIsRefused(t *testing.T) {
	g := NewWithT(t)
	ticket := newTicket(finalizer)
	r, _, _ := newReconciler(t, ticket)
	outdated := &flightsv1.FlightTicket{}
	g.Expect(r.Get(t.Context(), client.ObjectKeyFromObject(ticket), outdated)).To(Succeed())
	ticket.Finalizers = []string{finalizer, foreign}
	g.Expect(r.Update(t.Context(), ticket)).To(Succeed())

	g.Expect(r.cancel(t.Context(), outdated)).To(Satisfy(apierrors.IsConflict))

	g.Expect(r.Get(t.Context(), client.ObjectKeyFromObject(ticket), ticket)).To(Succeed())
	g.Expect(ticket.Finalizers).To(HaveExactElements(finalizer, foreign))
}
