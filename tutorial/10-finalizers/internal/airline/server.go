// Package airline is what the controller of this chapter works on: an airline, which lives outside of the cluster and has
// never heard of Kubernetes. It keeps its bookings for as long as it runs.
package airline

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
)

// Flight is what somebody wants to fly.
type Flight struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Number int    `json:"number"`
}

// Booking is what the airline makes of it.
type Booking struct {
	Name   string `json:"name"`
	Flight Flight `json:"flight"`
}

// Server is the airline. It serves
//
//	PUT /bookings/{key}
//	DELETE /bookings/{key}
//
// The first has a Flight in the body, and is answered with the Booking. A request with the same key gets the same booking again.
// The second cancels it, and is answered with 404 where there is nothing to cancel. A key that was once canceled books nothing
// any more: a request to book that was under way for long must not come after its own cancellation.
type Server struct {
	mux              http.ServeMux
	booked, canceled func(Booking)

	mu       sync.Mutex
	bookings map[string]*Booking // nil for a key that was canceled
	number   int                 // of the last booking
}

// NewServer returns an airline without bookings. It calls booked for each new one, and canceled for each one that is canceled.
func NewServer(booked, canceled func(Booking)) *Server {
	s := &Server{booked: booked, canceled: canceled, bookings: map[string]*Booking{}}
	s.mux.HandleFunc("PUT /bookings/{key}", s.put)
	s.mux.HandleFunc("DELETE /bookings/{key}", s.delete)
	return s
}

// ServeHTTP serves a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

func (s *Server) put(w http.ResponseWriter, r *http.Request) {
	var flight Flight
	if err := json.NewDecoder(r.Body).Decode(&flight); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	booking := s.book(r.PathValue("key"), flight)
	if booking == nil {
		http.Error(w, "this was canceled", http.StatusGone)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(booking) // who has gone asks again
}

func (s *Server) book(key string, flight Flight) *Booking {
	s.mu.Lock()
	defer s.mu.Unlock()
	booking, known := s.bookings[key]
	if !known {
		s.number++
		booking = &Booking{Name: fmt.Sprintf("B-%d", s.number), Flight: flight}
		s.bookings[key] = booking
		s.booked(*booking)
	}
	return booking
}

func (s *Server) delete(w http.ResponseWriter, r *http.Request) {
	if !s.cancel(r.PathValue("key")) {
		http.Error(w, "there is no such booking", http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// cancel returns whether there was something to cancel.
func (s *Server) cancel(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	booking := s.bookings[key]
	s.bookings[key] = nil
	if booking == nil {
		return false
	}
	s.canceled(*booking)
	return true
}
