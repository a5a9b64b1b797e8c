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
//
// with a Flight in the body, and answers with the Booking. A request with the same key gets the same booking again.
type Server struct {
	mux    http.ServeMux
	booked func(Booking)

	mu       sync.Mutex
	bookings map[string]Booking
}

// NewServer returns an airline without bookings. It calls booked for each new one.
func NewServer(booked func(Booking)) *Server {
	s := &Server{booked: booked, bookings: map[string]Booking{}}
	s.mux.HandleFunc("PUT /bookings/{key}", s.put)
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
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.book(r.PathValue("key"), flight)) // who has gone asks again
}

func (s *Server) book(key string, flight Flight) Booking {
	s.mu.Lock()
	defer s.mu.Unlock()
	booking, known := s.bookings[key]
	if !known {
		booking = Booking{Name: fmt.Sprintf("B-%d", len(s.bookings)+1), Flight: flight}
		s.bookings[key] = booking
		s.booked(booking)
	}
	return booking
}
