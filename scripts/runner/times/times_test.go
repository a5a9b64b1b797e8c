package times

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for want, seconds := range map[string][]int{
		"not measured yet": nil, "4 to 5 seconds": {4, 5}, "30 seconds": {30, 30}, "60 seconds": {60, 60}, "20 to 60 seconds": {20, 60}, "2 minutes": {95, 140},
		"1 to 2 minutes": {80, 110}, "17 to 28 minutes": {1020, 1680}, "1 to 2 hours": {3600, 7200}, "60 minutes": {3600, 3600},
	} {
		if got := text(seconds); got != want {
			t.Errorf("%v: got %q, expected %q", seconds, got, want)
		}
	}
}

// TestMeasured reads the file, and expects a row for each command that has one in another place.
func TestMeasured(t *testing.T) {
	rows, err := parse(measured)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, row := range rows {
		if seen[row.Command] {
			t.Errorf("%s has two rows", row.Command)
		}
		seen[row.Command] = true
	}
	for _, command := range []string{"make demo", "make test", "make test STAGE=NN-name", "make test-all", "make e2e"} {
		if !seen[command] {
			t.Errorf("%s has no row", command)
		}
	}
	if table := Table(); strings.Count(table, "\n") != len(rows)+2 || !strings.Contains(table, "| `make test-all` | ") {
		t.Errorf("the table is\n%s", table)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`[{"command": "a", "because": "b", "warm": [1], "when": "c"}]`:     "a takes [1]",
		`[{"command": "a", "because": "b", "first": [2, 1], "when": "c"}]`: "a takes [2 1]",
		`[{"command": "a", "because": "b", "warm": [1, 2]}]`:               "when it was measured",
		`[{"command": "a", "because": "b", "hot": [1, 2]}]`:                "unknown field",
		`[{"command": "a"}]`: "a reason",
	} {
		if _, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, expected %q", text, err, want)
		}
	}
}

func TestSentence(t *testing.T) {
	if got := Sentence("make tea"); got != "" {
		t.Errorf("a command without a row takes %q", got)
	}
	if got := Sentence("make demo"); !strings.HasPrefix(got, "It takes ") || !strings.HasSuffix(got, " the first time, when everything is compiled.") {
		t.Errorf("got %q", got)
	}
}
