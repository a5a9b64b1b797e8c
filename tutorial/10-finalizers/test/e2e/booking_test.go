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

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/tutorial/10-finalizers/internal/airline"
)

// Each feature has an airline of its own, and starts the operator with it.

// TestOnce has an airline that books, and whose first answer gets lost.
func TestOnce(t *testing.T) {
	stage.Feature("a ticket").
		Assess("is booked once, although the first answer gets lost", func(ctx context.Context, s *framework.Scope) {
			var cut atomic.Bool
			d := open(s, func(w http.ResponseWriter, r *http.Request, book http.Handler) {
				if cut.CompareAndSwap(false, true) {
					book.ServeHTTP(httptest.NewRecorder(), r)
					http.Error(w, "the line is cut", http.StatusBadGateway)
					return
				}
				book.ServeHTTP(w, r)
			})
			fly(ctx, s, d)
			ticket := buy(ctx, s, s.NewName("ticket"))
			hasBooking(ctx, s, ticket)
			number, _, err := unstructured.NestedInt64(ticket.Object, "spec", "number")
			NewWithT(s).Expect(err).NotTo(HaveOccurred())
			NewWithT(s).Expect(d.booked()).To(Equal([]airline.Booking{
				{Name: "B-1", Flight: airline.Flight{From: "Mumbai", To: "London", Number: int(number)}},
			}), "expected one booking for one ticket")
		}).
		TestAlone(t)
}

// TestClosed has an airline that sends everybody away at first.
func TestClosed(t *testing.T) {
	stage.Feature("tickets for a closed airline").
		Assess("are booked when it opens", func(ctx context.Context, s *framework.Scope) {
			opened := make(chan struct{})
			sentAway := make(chan types.UID, 1000)
			d := open(s, func(w http.ResponseWriter, r *http.Request, book http.Handler) {
				select {
				case <-opened:
					book.ServeHTTP(w, r)
				default:
					http.Error(w, "closed", http.StatusServiceUnavailable)
					sentAway <- keyOf(r)
				}
			})
			fly(ctx, s, d)
			tickets := []*unstructured.Unstructured{buy(ctx, s, s.NewName("one")), buy(ctx, s, s.NewName("two"))}
			waiting := map[types.UID]bool{}
			for len(waiting) < len(tickets) {
				waiting[receive(ctx, s, sentAway)] = true
			}
			close(opened)
			for _, ticket := range tickets {
				hasBooking(ctx, s, ticket)
			}
			NewWithT(s).Expect(d.booked()).To(HaveLen(2), "expected one booking for each ticket")
		}).
		TestAlone(t)
}

// TestStorm changes a ticket a hundred times while the airline is at work on it.
func TestStorm(t *testing.T) {
	const events = 100
	stage.Feature("a storm of events").
		Assess("is few reconciles", func(ctx context.Context, s *framework.Scope) {
			arrived, released, seen := make(chan struct{}), make(chan struct{}), make(chan struct{})
			release, see := sync.OnceFunc(func() { close(released) }), sync.OnceFunc(func() { close(seen) })
			var stormy atomic.Value // the UID of the first ticket
			var d *desk
			d = open(s, func(w http.ResponseWriter, r *http.Request, book http.Handler) {
				switch {
				case stormy.CompareAndSwap(nil, keyOf(r)):
					close(arrived)
					<-released
				case stormy.Load() == keyOf(r):
					// Second workers wait, too: with what they write, they would use up the requests that the next ticket needs.
					<-released
					if d.asked(keyOf(r)) == 3 { // its cache does not have the booking yet, and more would follow until it has
						<-seen
					}
				}
				book.ServeHTTP(w, r)
			})
			s.Cleanup(release) // or the airline could never close
			s.Cleanup(see)
			fly(ctx, s, d)
			ticket := buy(ctx, s, s.NewName("ticket"))
			receive(ctx, s, arrived)
			for i := range events {
				note := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/note":"%d"}}}`, i))
				NewWithT(s).Expect(s.Client.Patch(ctx, ticket, note)).To(Succeed())
			}
			// The informer delivers events in order: after that of the next ticket, it has delivered all changes of this one.
			hasBooking(ctx, s, buy(ctx, s, s.NewName("next")))
			NewWithT(s).Expect(d.asked(ticket.GetUID())).To(Equal(1), "expected no second worker on the same ticket, and one request with its UID as the key")
			release()
			hasBooking(ctx, s, ticket)
			hasBooking(ctx, s, buy(ctx, s, s.NewName("last")))
			see()
			hasBooking(ctx, s, buy(ctx, s, s.NewName("very-last")))
			NewWithT(s).Expect(d.asked(ticket.GetUID())).To(BeNumerically("<=", 3), "expected few requests for %d events", events)
		}).
		TestAlone(t)
}

func TestRestart(t *testing.T) {
	stage.Feature("a restart").
		Assess("loses no ticket, and books none again", func(ctx context.Context, s *framework.Scope) {
			d := open(s, always)
			fly(ctx, s, d)
			before := buy(ctx, s, s.NewName("before"))
			hasBooking(ctx, s, before)
			asked := d.asked(before.GetUID())
			NewWithT(s).Expect(s.Operator.Stop(ctx)).To(Succeed())
			meanwhile := buy(ctx, s, s.NewName("meanwhile"))
			fly(ctx, s, d)
			hasBooking(ctx, s, meanwhile)
			hasBooking(ctx, s, buy(ctx, s, s.NewName("afterwards")))
			NewWithT(s).Expect(d.asked(before.GetUID())).To(Equal(asked), "expected no request for a ticket that is booked")
			NewWithT(s).Expect(d.booked()).To(HaveLen(3), "expected one booking for each ticket")
		}).
		TestAlone(t)
}

// receive waits for the airline's next message.
func receive[T any](ctx context.Context, s *framework.Scope, from <-chan T) T {
	s.Helper()
	ctx, cancel := s.Bounded(ctx)
	defer cancel()
	select {
	case value := <-from:
		return value
	case <-ctx.Done():
		s.Fatal("the operator does not come to the airline")
		panic("not reached")
	}
}
