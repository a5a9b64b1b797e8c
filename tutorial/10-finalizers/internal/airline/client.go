package airline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

// Address is where the airline is: $AIRLINE, or a port of this machine.
func Address() string { return cmp.Or(os.Getenv("AIRLINE"), "http://127.0.0.1:8088") }

// Client books at an airline, and cancels.
//
// The same failure always reads the same, so that it can be shown to users in a status that is written only when it changes.
type Client struct {
	// URL is the airline's address, such as http://127.0.0.1:8088.
	URL string
	// Timeout is how long the airline may take for an answer; zero means as long as it likes.
	Timeout time.Duration
}

// Book books a flight, once per key, and returns the airline's name for the booking.
func (c Client) Book(ctx context.Context, key string, flight Flight) (string, error) {
	body, err := json.Marshal(flight)
	if err != nil {
		return "", err
	}
	status, answer, err := c.do(ctx, http.MethodPut, key, body)
	if err != nil {
		return "", err
	}
	if status != http.StatusOK {
		return "", refused(status)
	}
	var booking Booking
	if err := json.Unmarshal(answer, &booking); err != nil {
		return "", fmt.Errorf("reading the airline's answer: %w", err)
	}
	return booking.Name, nil
}

// Cancel cancels what was booked with the key. What is not booked, or not any more, is as good as canceled.
func (c Client) Cancel(ctx context.Context, key string) error {
	status, _, err := c.do(ctx, http.MethodDelete, key, nil)
	if err != nil {
		return err
	}
	if status != http.StatusNoContent && status != http.StatusNotFound {
		return refused(status)
	}
	return nil
}

// do makes a request about the key, and returns the answer's status and body.
func (c Client) do(ctx context.Context, method, key string, body []byte) (int, []byte, error) {
	address, err := url.JoinPath(c.URL, "bookings", key)
	if err != nil {
		return 0, nil, fmt.Errorf("the airline's address %s: %w", c.URL, err)
	}
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("the airline's address %s: %w", c.URL, err)
	}
	client := http.Client{Timeout: c.Timeout}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, unreachable(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return 0, nil, unreachable(err)
	}
	return response.StatusCode, answer, nil
}

// refused is an error that names the answer's status, and not its words: they may be others each time.
func refused(status int) error {
	return fmt.Errorf("the airline answers %d %s", status, http.StatusText(status))
}

// unreachable is an error that says why there was no answer, without the addresses: one of them is another each time.
func unreachable(err error) error {
	if request, ok := errors.AsType[*url.Error](err); ok {
		if request.Timeout() {
			return errors.New("the airline can't be reached: no answer in time")
		}
		err = request.Err
	}
	if connection, ok := errors.AsType[*net.OpError](err); ok {
		err = connection.Err
	}
	return fmt.Errorf("the airline can't be reached: %w", err)
}
