package airline_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/example/operator-testbed/tutorial/10-finalizers/internal/airline"
)

var flight = airline.Flight{From: "Mumbai", To: "London", Number: 2}

// open opens an airline for the time of a test, and returns a client of it, and what it books and cancels.
func open(t *testing.T) (client airline.Client, booked, canceled *[]string) {
	t.Helper()
	booked, canceled = &[]string{}, &[]string{}
	server := httptest.NewServer(airline.NewServer(
		func(b airline.Booking) { *booked = append(*booked, b.Name) },
		func(b airline.Booking) { *canceled = append(*canceled, b.Name) },
	))
	t.Cleanup(server.Close)
	return airline.Client{URL: server.URL}, booked, canceled
}

func TestOneBookingPerKey(t *testing.T) {
	client, booked, _ := open(t)
	for _, test := range []struct{ key, want string }{{"ann", "B-1"}, {"bob", "B-2"}, {"ann", "B-1"}} {
		got, err := client.Book(t.Context(), test.key, flight)
		if err != nil || got != test.want {
			t.Errorf("%s books %q, %v; expected %q", test.key, got, err, test.want)
		}
	}
	if len(*booked) != 2 {
		t.Errorf("the airline has booked %v, expected two", *booked)
	}
}

func TestCanceledOnce(t *testing.T) {
	client, _, canceled := open(t)
	if _, err := client.Book(t.Context(), "ann", flight); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"ann", "ann", "nobody"} {
		if err := client.Cancel(t.Context(), key); err != nil {
			t.Errorf("canceling what %s has booked: %v", key, err)
		}
	}
	if len(*canceled) != 1 {
		t.Errorf("the airline has canceled %v, expected one", *canceled)
	}
	for _, key := range []string{"ann", "nobody"} {
		if booking, err := client.Book(t.Context(), key, flight); err == nil {
			t.Errorf("%s books %s after it was canceled", key, booking)
		}
	}
}

// What a failure reads like, whatever the airline says and wherever it is.
func TestFailures(t *testing.T) {
	const closed = "http://127.0.0.1:1" // where no program listens
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "closed at "+time.Now().String(), http.StatusServiceUnavailable)
	}))
	t.Cleanup(refusing.Close)
	released := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-released }))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(released) }) // before Close, which waits for it
	rude := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(rude.Close)
	for name, test := range map[string]struct {
		client airline.Client
		want   string
	}{
		"closed":   {airline.Client{URL: closed}, "the airline can't be reached: connect: connection refused"},
		"refusing": {airline.Client{URL: refusing.URL}, "the airline answers 503 Service Unavailable"},
		"silent":   {airline.Client{URL: silent.URL, Timeout: 50 * time.Millisecond}, "the airline can't be reached: no answer in time"},
		"rude":     {airline.Client{URL: rude.URL}, "the airline can't be reached: EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := test.client.Book(t.Context(), "ann", flight); err == nil || err.Error() != test.want {
				t.Errorf("booking: %v; expected %s", err, test.want)
			}
			if err := test.client.Cancel(t.Context(), "ann"); err == nil || err.Error() != test.want {
				t.Errorf("canceling: %v; expected %s", err, test.want)
			}
		})
	}
}
