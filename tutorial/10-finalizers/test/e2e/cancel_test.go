package e2e

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
)

const (
	// finalizer is the operator's.
	finalizer = "flights.com/booking"
	// foreign is somebody else's, who is not there.
	foreign = "example.com/archive"
)

// TestCancel has an airline whose first answer to a cancellation gets lost.
func TestCancel(t *testing.T) {
	stage.Feature("a ticket that is deleted").
		Assess("is canceled once, although the first answer gets lost", func(ctx context.Context, s *framework.Scope) {
			var cut atomic.Bool
			d := open(s, func(w http.ResponseWriter, r *http.Request, book http.Handler) {
				if r.Method == http.MethodDelete && cut.CompareAndSwap(false, true) {
					book.ServeHTTP(httptest.NewRecorder(), r)
					http.Error(w, "the line is cut", http.StatusBadGateway)
					return
				}
				book.ServeHTTP(w, r)
			})
			fly(ctx, s, d)
			ticket, kept := buy(ctx, s, s.NewName("ticket")), buy(ctx, s, s.NewName("kept"))
			hasBooking(ctx, s, ticket)
			hasBooking(ctx, s, kept)
			remove(ctx, s, ticket)
			framework.WaitForDeletion(ctx, s, ticket)
			NewWithT(s).Expect(d.calledOff()).To(HaveExactElements(HaveField("Name", statusOf(ticket).Booking)), "expected the booking to be canceled once")
			NewWithT(s).Expect(d.askedToCancel(kept.GetUID())).To(BeZero(), "expected the other ticket to be left alone")
		}).
		TestAlone(t)
}

// TestCrash kills the operator when the airline has booked, and before it says so.
func TestCrash(t *testing.T) {
	stage.Feature("a booking that was never written down").
		Assess("is canceled, too", func(ctx context.Context, s *framework.Scope) {
			arrived, released := make(chan struct{}), make(chan struct{})
			var occupied atomic.Bool
			d := open(s, func(w http.ResponseWriter, r *http.Request, book http.Handler) {
				if occupied.CompareAndSwap(false, true) {
					book.ServeHTTP(httptest.NewRecorder(), r)
					close(arrived)
					<-released
					return
				}
				book.ServeHTTP(w, r)
			})
			s.Cleanup(func() { close(released) }) // or the airline could never close
			fly(ctx, s, d)
			ticket := buy(ctx, s, s.NewName("ticket"))
			receive(ctx, s, arrived)
			NewWithT(s).Expect(s.Client.Get(ctx, client.ObjectKeyFromObject(ticket), ticket)).To(Succeed())
			NewWithT(s).Expect(ticket.GetFinalizers()).To(ContainElement(finalizer), "expected the finalizer before the booking")
			NewWithT(s).Expect(s.Operator.Kill(ctx)).To(Succeed())
			remove(ctx, s, ticket)
			fly(ctx, s, d)
			framework.WaitForDeletion(ctx, s, ticket)
			NewWithT(s).Expect(d.calledOff()).To(HaveLen(1), "expected the booking that no status shows to be canceled")
		}).
		TestAlone(t)
}

// TestDown deletes a ticket while the operator is down.
func TestDown(t *testing.T) {
	stage.Feature("a ticket that is deleted while the operator is down").
		Assess("waits, and is canceled when it is back", func(ctx context.Context, s *framework.Scope) {
			d := open(s, always)
			fly(ctx, s, d)
			ticket := buy(ctx, s, s.NewName("ticket"))
			hasBooking(ctx, s, ticket)
			NewWithT(s).Expect(s.Operator.Stop(ctx)).To(Succeed())
			remove(ctx, s, ticket)
			NewWithT(s).Expect(s.Client.Get(ctx, client.ObjectKeyFromObject(ticket), ticket)).To(Succeed(), "expected the ticket to wait for the operator")
			NewWithT(s).Expect(ticket.GetDeletionTimestamp()).NotTo(BeNil())
			NewWithT(s).Expect(d.calledOff()).To(BeEmpty())
			fly(ctx, s, d)
			framework.WaitForDeletion(ctx, s, ticket)
			NewWithT(s).Expect(d.calledOff()).To(HaveLen(1), "expected the booking to be canceled once")
			NewWithT(s).Expect(d.booked()).To(HaveLen(1), "expected no booking for a ticket that is being deleted")
		}).
		TestAlone(t)
}

// TestClosedForCanceling has an airline that books, and cancels nothing at first. Its steps share the place in the audit log at
// which the ticket is deleted.
func TestClosedForCanceling(t *testing.T) {
	const tries = 5
	marked := func(context.Context, *framework.Scope) *audit.Mark { return &audit.Mark{} }
	framework.Given(stage.Feature("a ticket that a closed airline does not cancel"), marked).
		Assess("says so, is tried again, and goes when the airline opens", func(ctx context.Context, s *framework.Scope, deletion *audit.Mark) {
			opened := make(chan struct{})
			sentAway := make(chan types.UID, 1000)
			d := open(s, func(w http.ResponseWriter, r *http.Request, book http.Handler) {
				select {
				case <-opened:
				default:
					if r.Method == http.MethodDelete {
						http.Error(w, "closed", http.StatusServiceUnavailable)
						sentAway <- keyOf(r)
						return
					}
				}
				book.ServeHTTP(w, r)
			})
			fly(ctx, s, d)
			ticket := buy(ctx, s, s.NewName("ticket"))
			hasBooking(ctx, s, ticket)
			if s.Audit != nil {
				*deletion = s.Mark()
			}
			remove(ctx, s, ticket)
			framework.WaitForConditions(ctx, s, ticket, framework.Condition{
				Type: "Booked", Status: metav1.ConditionUnknown, Reason: "CancellationFailed", Message: "the airline answers 503",
			})
			for range tries {
				NewWithT(s).Expect(receive(ctx, s, sentAway)).To(Equal(ticket.GetUID()))
			}
			close(opened)
			framework.WaitForDeletion(ctx, s, ticket)
			NewWithT(s).Expect(d.calledOff()).To(HaveLen(1), "expected the booking to be canceled once")
		}).
		Assess("is reported once, not at each attempt", func(ctx context.Context, s *framework.Scope, deletion *audit.Mark) {
			s.NeedsAudit()
			framework.VerifyWrites(ctx, s, 1, s.Writes(*deletion, audit.Resource("flighttickets", "status"), audit.Code(http.StatusOK)))
		}).
		TestAlone(t)
}

// TestGone has an airline that has canceled the booking on its own.
func TestGone(t *testing.T) {
	stage.Feature("a booking that is gone already").
		Assess("counts as canceled", func(ctx context.Context, s *framework.Scope) {
			d := open(s, always)
			fly(ctx, s, d)
			ticket := buy(ctx, s, s.NewName("ticket"))
			hasBooking(ctx, s, ticket)
			d.Config.Handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodDelete, "/bookings/"+string(ticket.GetUID()), nil))
			NewWithT(s).Expect(d.calledOff()).To(HaveLen(1))
			remove(ctx, s, ticket)
			framework.WaitForDeletion(ctx, s, ticket)
		}).
		TestAlone(t)
}

// TestNeverBooked deletes tickets before the operator has seen them.
func TestNeverBooked(t *testing.T) {
	stage.Feature("tickets that are deleted before they are booked").
		Assess("are let go, and never booked", func(ctx context.Context, s *framework.Scope) {
			NewWithT(s).Expect(s.Operator.Stop(ctx)).To(Succeed())
			ours, theirs := buy(ctx, s, s.NewName("ours"), finalizer), buy(ctx, s, s.NewName("theirs"), foreign)
			remove(ctx, s, ours)
			remove(ctx, s, theirs)
			d := open(s, always)
			fly(ctx, s, d)
			framework.WaitForDeletion(ctx, s, ours)
			hasBooking(ctx, s, buy(ctx, s, s.NewName("afterwards")))
			NewWithT(s).Expect(d.booked()).To(HaveLen(1), "expected no booking for a ticket that is being deleted")
			NewWithT(s).Expect(d.askedToCancel(theirs.GetUID())).To(BeZero(), "expected no request for a ticket that was never ours")
			setFinalizers(ctx, s, theirs, `[]`)
			framework.WaitForDeletion(ctx, s, theirs)
		}).
		TestAlone(t)
}

// TestForeignFinalizer has a ticket that somebody else wants to keep.
func TestForeignFinalizer(t *testing.T) {
	stage.Feature("somebody else's finalizer").
		Assess("is left alone", func(ctx context.Context, s *framework.Scope) {
			d := open(s, always)
			fly(ctx, s, d)
			ticket := buy(ctx, s, s.NewName("ticket"), foreign)
			hasBooking(ctx, s, ticket)
			hasBooking(ctx, s, buy(ctx, s, s.NewName("next"))) // so that no older event of the ticket wakes the operator up again
			remove(ctx, s, ticket)
			framework.WaitForObject(ctx, s, ticket, WithTransform(finalizersOf, Equal([]string{foreign})))
			NewWithT(s).Expect(d.calledOff()).To(HaveLen(1), "expected the booking to be canceled")
			setFinalizers(ctx, s, ticket, `[]`)
			framework.WaitForDeletion(ctx, s, ticket)
			NewWithT(s).Expect(d.askedToCancel(ticket.GetUID())).To(Equal(1), "expected one request to cancel")
		}).
		TestAlone(t)
}

// TestOlder has a ticket that an operator without a finalizer has booked.
func TestOlder(t *testing.T) {
	stage.Feature("a ticket that was booked before there were finalizers").
		Assess("gets one", func(ctx context.Context, s *framework.Scope) {
			d := open(s, always)
			fly(ctx, s, d)
			ticket := buy(ctx, s, s.NewName("ticket"))
			hasBooking(ctx, s, ticket)
			NewWithT(s).Expect(s.Operator.Stop(ctx)).To(Succeed())
			setFinalizers(ctx, s, ticket, `[]`)
			fly(ctx, s, d)
			framework.WaitForObject(ctx, s, ticket, WithTransform(finalizersOf, Equal([]string{finalizer})))
			NewWithT(s).Expect(d.asked(ticket.GetUID())).To(Equal(1), "expected one request to book")
		}).
		TestAlone(t)
}

// remove deletes the ticket, and does not wait until it has gone.
func remove(ctx context.Context, s *framework.Scope, ticket *unstructured.Unstructured) {
	s.Helper()
	if err := s.Client.Delete(ctx, ticket); err != nil {
		s.Fatalf("deleting the ticket %s: %v", ticket.GetName(), err)
	}
}

// setFinalizers sets the ticket's finalizers to a JSON list.
func setFinalizers(ctx context.Context, s *framework.Scope, ticket *unstructured.Unstructured, list string) {
	s.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":`+list+`}}`))
	if err := s.Client.Patch(ctx, ticket, patch); err != nil {
		s.Fatalf("setting the finalizers of the ticket %s: %v", ticket.GetName(), err)
	}
}

func finalizersOf(ticket *unstructured.Unstructured) []string { return ticket.GetFinalizers() }
