package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

const recorded = `{"mark": "created"}
{"status": {}}
{"status": {"conditions": [{"type": "Available", "status": "False", "reason": "ReplicasNotReady"}, {"type": "Progressing", "status": "True", "reason": "RollingOut"}]}}
{"status": {"conditions": [{"type": "Available", "status": "True", "reason": "AllReplicasReady"}, {"type": "Progressing", "status": "False", "reason": "Converged"}]}}
{"mark": "a < b"}
{"status": {"conditions": [{"type": "Available", "status": "True", "reason": "AllReplicasReady"}, {"type": "Progressing", "status": "True", "reason": "RollingOut"}]}}
`

// clock returns a clock that goes on by half a second each time it is read.
func clock() func() time.Time {
	at := time.Unix(0, 0)
	return func() time.Time { at = at.Add(time.Second / 2); return at }
}

func TestRead(t *testing.T) {
	got, err := read(strings.NewReader(recorded), clock())
	if err != nil {
		t.Fatal(err)
	}
	half := time.Second / 2
	want := timeline{
		kinds: []string{"Available", "Progressing"},
		spans: []span{
			{"Progressing", "RollingOut", 3 * half, 4 * half},
			{"Available", "AllReplicasReady", 4 * half, 6 * half},
			{"Progressing", "RollingOut", 6 * half, 6 * half},
		},
		marks: []mark{{"created", half}, {"a < b", 5 * half}},
		end:   6 * half,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nexpected\n%+v", got, want)
	}
	for _, text := range []string{"", `{"mark": "nothing"}`, "no JSON"} {
		if got, err := read(strings.NewReader(text), clock()); err == nil {
			t.Errorf("%q: got %+v, expected an error", text, got)
		}
	}
}

// The picture is XML, and shows a reason only in a bar with enough room for it.
func TestDraw(t *testing.T) {
	history := timeline{
		kinds: []string{"Available", "Progressing"},
		spans: []span{{"Available", "LongEnough", 0, 30 * time.Second}, {"Progressing", "TooLong", 30 * time.Second, 31 * time.Second}},
		marks: []mark{{"a < b", 0}},
		end:   60 * time.Second,
	}
	var out bytes.Buffer
	if err := draw(&out, history); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, out.Bytes())
	if got := out.String(); !strings.Contains(got, ">LongEnough</text>") || strings.Contains(got, ">TooLong</text>") || !strings.Contains(got, ">TooLong</title>") {
		t.Errorf("expected LongEnough in its bar, and TooLong only as a title:\n%s", got)
	}
}

func TestTicks(t *testing.T) {
	for end, want := range map[time.Duration]int{3 * time.Second: 4, 6 * time.Second: 7, 25 * time.Second: 6, time.Minute: 7} {
		if got := ticks(end); len(got) != want {
			t.Errorf("%s: got %s, expected %d", end, got, want)
		}
	}
}

// TestPicture checks that the picture of the chapter shows each condition and each event of docs/conditions/record.
func TestPicture(t *testing.T) {
	picture, err := os.ReadFile("../conditions.svg")
	if err != nil {
		t.Fatal(err)
	}
	wellFormed(t, picture)
	record, err := os.ReadFile("record")
	if err != nil {
		t.Fatal(err)
	}
	expected := []string{"Available", "Progressing", "Degraded", "AllReplicasReady", "RollingOut", "PodsFailing"}
	for line := range strings.Lines(string(record)) {
		if what, ok := strings.CutPrefix(strings.TrimSpace(line), "mark '"); ok {
			expected = append(expected, strings.TrimSuffix(what, "'"))
		}
	}
	if len(expected) < 8 {
		t.Errorf("record marks nothing: %q", expected)
	}
	for _, text := range expected {
		if !strings.Contains(string(picture), text) {
			t.Errorf("docs/conditions.svg does not show %q: make conditions-picture draws it again", text)
		}
	}
}

func wellFormed(t *testing.T, picture []byte) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(picture))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v:\n%s", err, picture)
		}
	}
}
