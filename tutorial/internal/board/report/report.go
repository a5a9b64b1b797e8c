// Package report sends what a learner has done to the board of the class. What can't be sent is sent with the next report, so a lost
// network costs nothing but time.
package report

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/example/operator-testbed/tutorial/internal/event"
)

const (
	// Schema names the format of [Report].
	Schema = "lab-report/v1"
	// Path is where a board takes reports.
	Path = "/events"
	// Most is how many events a report has at most. What is left follows in another.
	Most = 200
	// StateFile is the name of the file that says in a copy's directory what was sent.
	StateFile = ".reported"
)

// Report is what a copy sends.
type Report struct {
	Schema string `json:"schema"`
	// Copy is a name that the copy has drawn, because a student may have several, each of which counts its own events.
	Copy string `json:"copy"`
	// SentAt is when the sender's clock says that the report was sent: clocks of thirty laptops differ.
	SentAt time.Time     `json:"sent_at"`
	Events []event.Event `json:"events"`
}

// Target is a board, as the hand-out names it in a copy, and the student's token there.
type Target struct{ URL, Token string }

// state is what was sent of a copy.
type state struct {
	Copy string `json:"copy"`
	Seq  int    `json:"seq"`
}

// Send sends those events of the copy in dir that the board does not have yet, in their order.
func Send(ctx context.Context, to Target, dir string, events []event.Event) error {
	file := filepath.Join(dir, StateFile)
	sent, err := read(file)
	if err != nil {
		return err
	}
	last := 0
	for _, e := range events {
		last = max(last, e.Seq)
	}
	if sent.Copy == "" || last < sent.Seq { // The copy is new, or its events start over.
		sent = state{Copy: rand.Text()}
	}
	for {
		next := Report{Schema: Schema, Copy: sent.Copy, SentAt: time.Now().UTC()}
		for _, e := range events {
			if e.Seq > sent.Seq && len(next.Events) < Most {
				next.Events = append(next.Events, e)
			}
		}
		if len(next.Events) == 0 {
			return nil
		}
		if err := post(ctx, to, next); err != nil {
			return fmt.Errorf("report to the board at %s: %w: the next report has this one, too", to.URL, err)
		}
		sent.Seq = next.Events[len(next.Events)-1].Seq
		if err := write(file, sent); err != nil {
			return err
		}
	}
}

// client reaches the board itself: no proxy, and nowhere else with the token.
var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func post(ctx context.Context, to Target, r Report) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(to.URL, "/")+Path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+to.Token)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		answer, _ := io.ReadAll(io.LimitReader(response.Body, 300)) // The status says enough without it.
		return fmt.Errorf("it answers %s: %s", response.Status, strings.TrimSpace(string(answer)))
	}
	return nil
}

func read(file string) (state, error) {
	var s state
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if !json.Valid(text) {
		return s, nil // It was damaged: as a new copy, everything is sent again.
	}
	err = json.Unmarshal(text, &s)
	return s, err
}

// write replaces the file at once, so that it is never half of it.
func write(file string, s state) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
