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
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/audit"
	"github.com/example/operator-testbed/e2e/expect"
	"github.com/example/operator-testbed/e2e/suite"
)

const (
	// finalizer is the operator's.
	finalizer = "flights.com/booking"
	// foreign is somebody else's, who is not there.
	foreign = "example.com/archive"
)

// TestCancel has an airline whose first answer to a cancellation gets lost.
func TestCancel(t *testing.T) {
	stage.TestAlone(t, features.New("a ticket that is deleted").
		Assess("is canceled once, although the first answer gets lost", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			var cut atomic.Bool
			d := open(t, func(w http.ResponseWriter, r *http.Request, book http.Handler) {
				if r.Method == http.MethodDelete && cut.CompareAndSwap(false, true) {
					book.ServeHTTP(httptest.NewRecorder(), r)
					http.Error(w, "the line is cut", http.StatusBadGateway)
					return
				}
				book.ServeHTTP(w, r)
			})
			fly(ctx, t, s, d)
			ticket, kept := buy(ctx, t, s, "ticket"), buy(ctx, t, s, "kept")
			hasBooking(ctx, t, s, ticket)
			hasBooking(ctx, t, s, kept)
			remove(ctx, t, s, ticket)
			s.Expect(t).Gone(ctx, ticket)
			NewWithT(t).Expect(d.calledOff()).To(HaveExactElements(HaveField("Name", statusOf(ticket).Booking)), "expected the booking to be canceled once")
			NewWithT(t).Expect(d.askedToCancel(kept.GetUID())).To(BeZero(), "expected the other ticket to be left alone")
		})).
		Feature())
}

// TestCrash kills the operator when the airline has booked, and before it says so.
func TestCrash(t *testing.T) {
	stage.TestAlone(t, features.New("a booking that was never written down").
		Assess("is canceled, too", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			arrived, released := make(chan struct{}), make(chan struct{})
			var occupied atomic.Bool
			d := open(t, func(w http.ResponseWriter, r *http.Request, book http.Handler) {
				if occupied.CompareAndSwap(false, true) {
					book.ServeHTTP(httptest.NewRecorder(), r)
					close(arrived)
					<-released
					return
				}
				book.ServeHTTP(w, r)
			})
			t.Cleanup(func() { close(released) }) // or the airline could never close
			fly(ctx, t, s, d)
			ticket := buy(ctx, t, s, "ticket")
			receive(ctx, t, s, arrived)
			NewWithT(t).Expect(s.Client.Get(ctx, client.ObjectKeyFromObject(ticket), ticket)).To(Succeed())
			NewWithT(t).Expect(ticket.GetFinalizers()).To(ContainElement(finalizer), "expected the finalizer before the booking")
			NewWithT(t).Expect(s.Operator.Kill(ctx)).To(Succeed())
			remove(ctx, t, s, ticket)
			fly(ctx, t, s, d)
			s.Expect(t).Gone(ctx, ticket)
			NewWithT(t).Expect(d.calledOff()).To(HaveLen(1), "expected the booking to be canceled of which no status tells")
		})).
		Feature())
}

// TestDown deletes a ticket while the operator is down.
func TestDown(t *testing.T) {
	stage.TestAlone(t, features.New("a ticket that is deleted while the operator is down").
		Assess("waits, and is canceled when it is back", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			d := open(t, always)
			fly(ctx, t, s, d)
			ticket := buy(ctx, t, s, "ticket")
			hasBooking(ctx, t, s, ticket)
			NewWithT(t).Expect(s.Operator.Stop(ctx)).To(Succeed())
			remove(ctx, t, s, ticket)
			NewWithT(t).Expect(s.Client.Get(ctx, client.ObjectKeyFromObject(ticket), ticket)).To(Succeed(), "expected the ticket to wait for the operator")
			NewWithT(t).Expect(ticket.GetDeletionTimestamp()).NotTo(BeNil())
			NewWithT(t).Expect(d.calledOff()).To(BeEmpty())
			fly(ctx, t, s, d)
			s.Expect(t).Gone(ctx, ticket)
			NewWithT(t).Expect(d.calledOff()).To(HaveLen(1), "expected the booking to be canceled once")
			NewWithT(t).Expect(d.booked()).To(HaveLen(1), "expected no booking for a ticket that is being deleted")
		})).
		Feature())
}

// TestClosedForCanceling has an airline that books, and cancels nothing at first.
func TestClosedForCanceling(t *testing.T) {
	const tries = 5
	var deletion audit.Mark
	stage.TestAlone(t, features.New("a ticket that a closed airline does not cancel").
		Assess("says so, is tried again, and goes when the airline opens", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			opened := make(chan struct{})
			sentAway := make(chan types.UID, 1000)
			d := open(t, func(w http.ResponseWriter, r *http.Request, book http.Handler) {
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
			fly(ctx, t, s, d)
			ticket := buy(ctx, t, s, "ticket")
			hasBooking(ctx, t, s, ticket)
			if s.Audit != nil {
				deletion = s.Mark(t)
			}
			remove(ctx, t, s, ticket)
			s.Expect(t).Condition(ctx, ticket, expect.Condition{
				Type: "Booked", Status: metav1.ConditionUnknown, Reason: "CancellationFailed", Message: "the airline answers 503",
			})
			for range tries {
				NewWithT(t).Expect(receive(ctx, t, s, sentAway)).To(Equal(ticket.GetUID()))
			}
			close(opened)
			s.Expect(t).Gone(ctx, ticket)
			NewWithT(t).Expect(d.calledOff()).To(HaveLen(1), "expected the booking to be canceled once")
		})).
		Assess("is told once, not at each try", suite.Step(func(_ context.Context, t *testing.T, s *suite.Scope) {
			s.NeedsAudit(t)
			s.Expect(t).AtMost(1, s.Writes(deletion, audit.Resource("flighttickets", "status"), audit.Code(http.StatusOK)))
		})).
		Feature())
}

// TestGone has an airline that has canceled by itself.
func TestGone(t *testing.T) {
	stage.TestAlone(t, features.New("a booking that is gone already").
		Assess("counts as canceled", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			d := open(t, always)
			fly(ctx, t, s, d)
			ticket := buy(ctx, t, s, "ticket")
			hasBooking(ctx, t, s, ticket)
			d.Config.Handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodDelete, "/bookings/"+string(ticket.GetUID()), nil))
			NewWithT(t).Expect(d.calledOff()).To(HaveLen(1))
			remove(ctx, t, s, ticket)
			s.Expect(t).Gone(ctx, ticket)
		})).
		Feature())
}

// TestNeverBooked deletes tickets before the operator has seen them.
func TestNeverBooked(t *testing.T) {
	stage.TestAlone(t, features.New("tickets that are deleted before they are booked").
		Assess("are let go, and never booked", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			NewWithT(t).Expect(s.Operator.Stop(ctx)).To(Succeed())
			ours, theirs := buy(ctx, t, s, "ours", finalizer), buy(ctx, t, s, "theirs", foreign)
			remove(ctx, t, s, ours)
			remove(ctx, t, s, theirs)
			d := open(t, always)
			fly(ctx, t, s, d)
			s.Expect(t).Gone(ctx, ours)
			hasBooking(ctx, t, s, buy(ctx, t, s, "afterwards"))
			NewWithT(t).Expect(d.booked()).To(HaveLen(1), "expected no booking for a ticket that is being deleted")
			NewWithT(t).Expect(d.askedToCancel(theirs.GetUID())).To(BeZero(), "expected no request for a ticket that was never ours")
			setFinalizers(ctx, t, s, theirs, `[]`)
			s.Expect(t).Gone(ctx, theirs)
		})).
		Feature())
}

// TestForeignFinalizer has a ticket that somebody else wants to keep.
func TestForeignFinalizer(t *testing.T) {
	stage.TestAlone(t, features.New("somebody else's finalizer").
		Assess("is left alone", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			d := open(t, always)
			fly(ctx, t, s, d)
			ticket := buy(ctx, t, s, "ticket", foreign)
			hasBooking(ctx, t, s, ticket)
			remove(ctx, t, s, ticket)
			s.Expect(t).Object(ctx, ticket, WithTransform(finalizersOf, Equal([]string{foreign})))
			NewWithT(t).Expect(d.calledOff()).To(HaveLen(1), "expected the booking to be canceled")
			setFinalizers(ctx, t, s, ticket, `[]`)
			s.Expect(t).Gone(ctx, ticket)
			NewWithT(t).Expect(d.askedToCancel(ticket.GetUID())).To(Equal(1), "expected one request to cancel")
		})).
		Feature())
}

// TestOlder has a ticket that the operator of chapter 02 has booked.
func TestOlder(t *testing.T) {
	stage.TestAlone(t, features.New("a ticket that was booked before there were finalizers").
		Assess("gets one", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			d := open(t, always)
			fly(ctx, t, s, d)
			ticket := buy(ctx, t, s, "ticket")
			hasBooking(ctx, t, s, ticket)
			NewWithT(t).Expect(s.Operator.Stop(ctx)).To(Succeed())
			setFinalizers(ctx, t, s, ticket, `[]`)
			fly(ctx, t, s, d)
			s.Expect(t).Object(ctx, ticket, WithTransform(finalizersOf, Equal([]string{finalizer})))
			NewWithT(t).Expect(d.asked(ticket.GetUID())).To(Equal(1), "expected one request to book")
		})).
		Feature())
}

// remove deletes the ticket, and does not wait until it has gone.
func remove(ctx context.Context, t *testing.T, s *suite.Scope, ticket *unstructured.Unstructured) {
	t.Helper()
	if err := s.Client.Delete(ctx, ticket); err != nil {
		t.Fatalf("deleting the ticket %s: %v", ticket.GetName(), err)
	}
}

// setFinalizers sets the ticket's finalizers to a JSON list.
func setFinalizers(ctx context.Context, t *testing.T, s *suite.Scope, ticket *unstructured.Unstructured, list string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":`+list+`}}`))
	if err := s.Client.Patch(ctx, ticket, patch); err != nil {
		t.Fatalf("setting the finalizers of the ticket %s: %v", ticket.GetName(), err)
	}
}

func finalizersOf(ticket *unstructured.Unstructured) []string { return ticket.GetFinalizers() }
