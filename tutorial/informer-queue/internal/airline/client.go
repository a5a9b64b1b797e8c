package airline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
)

// Address is where the airline is: $AIRLINE, or a port of this machine.
func Address() string { return cmp.Or(os.Getenv("AIRLINE"), "http://127.0.0.1:8088") }

// Client books at an airline.
type Client struct {
	// URL is the airline's address, such as http://127.0.0.1:8088.
	URL string
}

// Book books a flight, once per key, and returns the airline's name for the booking.
func (c Client) Book(ctx context.Context, key string, flight Flight) (string, error) {
	body, err := json.Marshal(flight)
	if err != nil {
		return "", err
	}
	address, err := url.JoinPath(c.URL, "bookings", key)
	if err != nil {
		return "", fmt.Errorf("booking at %s: %w", c.URL, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, address, bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("booking at %s: %w", c.URL, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("booking at the airline: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		reason, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10)) // the status says enough without
		return "", fmt.Errorf("the airline says %s: %s", response.Status, bytes.TrimSpace(reason))
	}
	var booking Booking
	if err := json.NewDecoder(response.Body).Decode(&booking); err != nil {
		return "", fmt.Errorf("reading the airline's answer: %w", err)
	}
	return booking.Name, nil
}
