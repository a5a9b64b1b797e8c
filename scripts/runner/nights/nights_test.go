package nights

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// at opens a record on a commit, at a time.
func at(t *testing.T, path, commit string, now time.Time) *Record {
	t.Helper()
	r, err := open(path, commit)
	if err != nil {
		t.Fatal(err)
	}
	r.now = func() time.Time { return now }
	return r
}

func TestRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "nightly.json")
	night := time.Date(2026, 11, 26, 2, 17, 0, 0, time.UTC)
	first := at(t, path, "aaaa", night)
	first.Ended("soak", true, 30*time.Minute)
	first.Ended("race", true, time.Second)
	second := at(t, path, "bbbb", night.Add(24*time.Hour))
	second.Ended("soak", false, time.Minute)
	if err := second.Err(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"soak 2026-11-26 02:17 aaaa 30 min failed",
		"race 2026-11-26 02:17 aaaa 1 min not run",
		"texts never not run",
	}
	expect := func(want []string) {
		t.Helper()
		lines := strings.Split(at(t, path, "bbbb", night).Table([]string{"soak", "race", "texts"}), "\n")
		if !strings.Contains(lines[0], path) || len(lines) != 5 {
			t.Fatalf("the table is %q", lines)
		}
		for i, line := range lines[2:] {
			if got := strings.Join(strings.Fields(line), " "); got != want[i] {
				t.Errorf("got %q, expected %q", got, want[i])
			}
		}
	}
	expect(want)
	second.Ended("soak", true, 31*time.Minute) // again, on the same commit
	want[0] = "soak 2026-11-27 02:17 bbbb 31 min passed"
	expect(want)
}

// TestRecordIsBounded keeps the newest results.
func TestRecordIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nightly.json")
	for i := range kept + 2 {
		at(t, path, fmt.Sprint(i), time.Unix(int64(i), 0)).Ended("soak", true, 0)
	}
	r := at(t, path, "x", time.Time{})
	if len(r.entries) != kept || r.entries[0].Commit != "2" {
		t.Errorf("%d results are kept, from %+v", len(r.entries), r.entries[0])
	}
}

func TestRecordOfAFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nightly.json")
	r := at(t, path, "aaaa", time.Time{})
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	r.Ended("soak", true, 0)
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "write the record of nightly runs") {
		t.Errorf("got %v", err)
	}
	if _, err := open(path, "aaaa"); err == nil || !strings.Contains(err.Error(), "read the record of nightly runs, "+path) {
		t.Errorf("got %v", err)
	}
}
