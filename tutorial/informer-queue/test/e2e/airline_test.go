package e2e

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/tutorial/informer-queue/internal/airline"
)

// desk is the chapter's airline behind a handler that counts the requests, and may delay or refuse them.
type desk struct {
	*httptest.Server

	mu       sync.Mutex
	bookings []airline.Booking
	requests map[types.UID]int
}

// open runs an airline for the time of a test. Each request comes to the handler, which passes it on to book or not.
func open(s *framework.Scope, door func(w http.ResponseWriter, r *http.Request, book http.Handler)) *desk {
	s.Helper()
	d := &desk{requests: map[types.UID]int{}}
	server := airline.NewServer(func(b airline.Booking) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.bookings = append(d.bookings, b)
	})
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.requests[keyOf(r)]++
		d.mu.Unlock()
		door(w, r, server)
	}))
	s.Cleanup(d.Close)
	return d
}

// keyOf is whose flight a request is to book.
func keyOf(r *http.Request) types.UID { return types.UID(strings.TrimPrefix(r.URL.Path, "/bookings/")) }

// always passes every request on.
func always(w http.ResponseWriter, r *http.Request, book http.Handler) { book.ServeHTTP(w, r) }

// booked returns what has been booked, in the order in which it was.
func (d *desk) booked() []airline.Booking {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.bookings)
}

// asked returns how many requests there were to book for the ticket.
func (d *desk) asked(ticket types.UID) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.requests[ticket]
}
