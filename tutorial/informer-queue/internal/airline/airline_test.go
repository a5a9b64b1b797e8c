package airline_test

import (
	"net/http/httptest"
	"testing"

	"github.com/example/operator-testbed/tutorial/informer-queue/internal/airline"
)

func TestOneBookingPerKey(t *testing.T) {
	var booked []airline.Booking
	server := httptest.NewServer(airline.NewServer(func(b airline.Booking) { booked = append(booked, b) }))
	defer server.Close()
	client := airline.Client{URL: server.URL}
	for _, test := range []struct{ key, want string }{{"ann", "B-1"}, {"bob", "B-2"}, {"ann", "B-1"}} {
		got, err := client.Book(t.Context(), test.key, airline.Flight{From: "Mumbai", To: "London", Number: 2})
		if err != nil || got != test.want {
			t.Errorf("%s books %q, %v; expected %q", test.key, got, err, test.want)
		}
	}
	if len(booked) != 2 {
		t.Errorf("the airline has booked %v, expected two", booked)
	}
}
