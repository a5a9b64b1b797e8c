package isolation

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestTail(t *testing.T) {
	for name, tc := range map[string]struct {
		limit  int64
		writes []string
		want   string
	}{
		"no limit":         {0, []string{"abc", "def"}, "abcdef"},
		"less":             {10, []string{"abc", "def"}, "abcdef"},
		"as much":          {6, []string{"abcd", "ef"}, "abcdef"},
		"more":             {6, []string{"abcd", "efgh"}, "abc\n[2 bytes are left out]\nfgh"},
		"more, at once":    {4, []string{"abcdefgh"}, "ab\n[4 bytes are left out]\ngh"},
		"more, one by one": {4, strings.Split("abcdefgh", ""), "ab\n[4 bytes are left out]\ngh"},
		"nothing":          {4, nil, ""},
	} {
		var out strings.Builder
		tail := newTail(&out, tc.limit)
		for _, text := range tc.writes {
			if n, err := tail.Write([]byte(text)); n != len(text) || err != nil {
				t.Errorf("%s: %d, %v", name, n, err)
			}
		}
		if err := tail.Close(); err != nil || out.String() != tc.want {
			t.Errorf("%s: got %q, %v, expected %q", name, out.String(), err, tc.want)
		}
	}
	tail := newTail(broken{}, 0)
	if n, err := tail.Write([]byte("abc")); n != 3 || err != nil {
		t.Errorf("whoever prints learns that nobody reads: %d, %v", n, err)
	}
	if err := tail.Close(); !errors.Is(err, errBroken) {
		t.Errorf("got %v, expected the error of the writer", err)
	}
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestExceeded(t *testing.T) {
	limits := Limits{Time: time.Minute, CPU: time.Second, Memory: 100, Processes: 10}
	for want, tc := range map[string]struct {
		elapsed time.Duration
		now     consumption
	}{
		"":                {time.Minute, consumption{cpu: time.Second, memory: 100, tasks: 10}},
		ExceededTime:      {time.Minute + 1, consumption{}},
		ExceededCPU:       {0, consumption{cpu: time.Second + 1}},
		ExceededMemory:    {0, consumption{memory: 101}},
		ExceededProcesses: {0, consumption{tasks: 11}},
	} {
		if got := limits.exceeded(tc.elapsed, tc.now); got != want {
			t.Errorf("got %q, expected %q", got, want)
		}
	}
	if got := (Limits{}).exceeded(time.Hour, consumption{time.Hour, 1 << 40, 1 << 20}); got != "" {
		t.Errorf("without limits, %q is exceeded", got)
	}
}

func TestUnknownChoice(t *testing.T) {
	if _, err := Choose(t.Context(), "both"); err == nil || !strings.Contains(err.Error(), "say inner, outer or none") {
		t.Errorf("got %v", err)
	}
	walls, err := Choose(t.Context(), WantNone)
	if outer, inner := walls.Isolation(); err != nil || outer != none || inner != none || walls.Confines() {
		t.Errorf("got %q, %q, %v", outer, inner, err)
	}
}
