package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/suite"
	"github.com/example/operator-testbed/tutorial/02-informer-queue/internal/airline"
)

// Each feature has an airline of its own, and starts the operator with it.

// TestOnce has an airline that books, and whose first answer gets lost.
func TestOnce(t *testing.T) {
	stage.TestAlone(t, features.New("a ticket").
		Assess("is booked once, although the first answer gets lost", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			var cut atomic.Bool
			d := open(t, func(w http.ResponseWriter, r *http.Request, book http.Handler) {
				if cut.CompareAndSwap(false, true) {
					book.ServeHTTP(httptest.NewRecorder(), r)
					http.Error(w, "the line is cut", http.StatusBadGateway)
					return
				}
				book.ServeHTTP(w, r)
			})
			fly(ctx, t, s, d)
			ticket := buy(ctx, t, s, "ticket")
			hasBooking(ctx, t, s, ticket)
			NewWithT(t).Expect(d.booked()).To(Equal([]airline.Booking{
				{Name: "B-1", Flight: airline.Flight{From: "Mumbai", To: "London", Number: 2}},
			}), "expected one booking for one ticket")
		})).
		Feature())
}

// TestClosed has an airline that sends everybody away at first.
func TestClosed(t *testing.T) {
	stage.TestAlone(t, features.New("tickets for a closed airline").
		Assess("are booked when it opens", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			opened := make(chan struct{})
			sentAway := make(chan types.UID, 1000)
			d := open(t, func(w http.ResponseWriter, r *http.Request, book http.Handler) {
				select {
				case <-opened:
					book.ServeHTTP(w, r)
				default:
					http.Error(w, "closed", http.StatusServiceUnavailable)
					sentAway <- keyOf(r)
				}
			})
			fly(ctx, t, s, d)
			tickets := []*unstructured.Unstructured{buy(ctx, t, s, "one"), buy(ctx, t, s, "two")}
			waiting := map[types.UID]bool{}
			for len(waiting) < len(tickets) {
				waiting[receive(ctx, t, s, sentAway)] = true
			}
			close(opened)
			for _, ticket := range tickets {
				hasBooking(ctx, t, s, ticket)
			}
			NewWithT(t).Expect(d.booked()).To(HaveLen(2), "expected one booking for each ticket")
		})).
		Feature())
}

// TestStorm changes a ticket a hundred times while the airline is at work on it.
func TestStorm(t *testing.T) {
	const events = 100
	stage.TestAlone(t, features.New("a storm of events").
		Assess("is few reconciles", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			arrived, released := make(chan struct{}), make(chan struct{})
			release := sync.OnceFunc(func() { close(released) })
			var occupied atomic.Bool
			d := open(t, func(w http.ResponseWriter, r *http.Request, book http.Handler) {
				if occupied.CompareAndSwap(false, true) {
					close(arrived)
					<-released
				}
				book.ServeHTTP(w, r)
			})
			t.Cleanup(release) // or the airline could never close
			fly(ctx, t, s, d)
			ticket := buy(ctx, t, s, "ticket")
			receive(ctx, t, s, arrived)
			for i := range events {
				note := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/note":"%d"}}}`, i))
				NewWithT(t).Expect(s.Client.Patch(ctx, ticket, note)).To(Succeed())
			}
			// The informer tells in order: when it has told of the next ticket, it has told of all changes of this one.
			hasBooking(ctx, t, s, buy(ctx, t, s, "next"))
			NewWithT(t).Expect(d.asked(ticket.GetUID())).To(Equal(1), "expected no second worker on the same ticket, and one request with its UID as the key")
			release()
			hasBooking(ctx, t, s, ticket)
			hasBooking(ctx, t, s, buy(ctx, t, s, "last"))
			NewWithT(t).Expect(d.asked(ticket.GetUID())).To(BeNumerically("<=", 3), "expected few requests for %d events", events)
		})).
		Feature())
}

func TestRestart(t *testing.T) {
	stage.TestAlone(t, features.New("a restart").
		Assess("loses no ticket, and books none again", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			d := open(t, always)
			fly(ctx, t, s, d)
			before := buy(ctx, t, s, "before")
			hasBooking(ctx, t, s, before)
			asked := d.asked(before.GetUID())
			NewWithT(t).Expect(s.Operator.Stop(ctx)).To(Succeed())
			meanwhile := buy(ctx, t, s, "meanwhile")
			fly(ctx, t, s, d)
			hasBooking(ctx, t, s, meanwhile)
			hasBooking(ctx, t, s, buy(ctx, t, s, "afterwards"))
			NewWithT(t).Expect(d.asked(before.GetUID())).To(Equal(asked), "expected no request for a ticket that is booked")
			NewWithT(t).Expect(d.booked()).To(HaveLen(3), "expected one booking for each ticket")
		})).
		Feature())
}

// receive waits for what the airline tells.
func receive[T any](ctx context.Context, t *testing.T, s *suite.Scope, from <-chan T) T {
	t.Helper()
	ctx, cancel := s.Bounded(ctx)
	defer cancel()
	select {
	case value := <-from:
		return value
	case <-ctx.Done():
		t.Fatal("the operator does not come to the airline")
		panic("not reached")
	}
}
