package e2e

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/tutorial/10-finalizers/internal/airline"
)

// desk is the chapter's airline behind a handler that counts the requests, and may delay or refuse them.
type desk struct {
	*httptest.Server

	mu                 sync.Mutex
	bookings, canceled []airline.Booking
	requests           map[request]int
}

// request is what the handler counts.
type request struct {
	method string
	ticket types.UID
}

// open runs an airline for the time of a test. Each request comes to the handler, which passes it on to book or not.
func open(s *framework.Scope, door func(w http.ResponseWriter, r *http.Request, book http.Handler)) *desk {
	s.Helper()
	d := &desk{requests: map[request]int{}}
	note := func(list *[]airline.Booking) func(airline.Booking) {
		return func(b airline.Booking) {
			d.mu.Lock()
			defer d.mu.Unlock()
			*list = append(*list, b)
		}
	}
	server := airline.NewServer(note(&d.bookings), note(&d.canceled))
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.requests[request{r.Method, keyOf(r)}]++
		d.mu.Unlock()
		door(w, r, server)
	}))
	s.Cleanup(d.Close)
	return d
}

// keyOf is whose flight a request is about.
func keyOf(r *http.Request) types.UID { return types.UID(strings.TrimPrefix(r.URL.Path, "/bookings/")) }

// always passes every request on.
func always(w http.ResponseWriter, r *http.Request, book http.Handler) { book.ServeHTTP(w, r) }

// booked returns what has been booked, in the order in which it was.
func (d *desk) booked() []airline.Booking { return d.read(&d.bookings) }

// calledOff returns what has been canceled, in the order in which it was.
func (d *desk) calledOff() []airline.Booking { return d.read(&d.canceled) }

func (d *desk) read(list *[]airline.Booking) []airline.Booking {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(*list)
}

// asked returns how many requests there were to book for the ticket.
func (d *desk) asked(ticket types.UID) int { return d.count(http.MethodPut, ticket) }

// askedToCancel returns how many requests there were to cancel what was booked for the ticket.
func (d *desk) askedToCancel(ticket types.UID) int { return d.count(http.MethodDelete, ticket) }

func (d *desk) count(method string, ticket types.UID) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.requests[request{method, ticket}]
}
