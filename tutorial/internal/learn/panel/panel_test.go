package panel_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/example/operator-testbed/tutorial/internal/learn"
	"github.com/example/operator-testbed/tutorial/internal/learn/panel"
	"github.com/example/operator-testbed/tutorial/internal/web/contrast"
)

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := fs.ReadFile(panel.Files, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// The script stays small enough to be read, and what it gets from the server has one way into the page: as text. The one place that parses
// markup, build, is called with templates of the script only.
func TestScript(t *testing.T) {
	script := read(t, "panel.js")
	if len(script) >= 30_000 {
		t.Errorf("panel.js has %d bytes, expected less than 30000", len(script))
	}
	for forbidden, most := range map[string]int{
		"innerHTML": 1, "outerHTML": 0, "insertAdjacentHTML": 0, "document.write": 0, "DOMParser": 0, "eval(": 0, "Function(": 0, ".style": 0, "style=": 0,
	} {
		if n := strings.Count(script, forbidden); n > most {
			t.Errorf("panel.js has %s %d times, expected at most %d", forbidden, n, most)
		}
	}
}

// The states that the tests in the browser show are such as the server sends.
func TestStates(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no states: %v", err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(bytes.NewReader(content))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&learn.State{}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Text can be read on what is behind it, in light and in the dark.
func TestContrast(t *testing.T) {
	sets := regexp.MustCompile(`(?s)\{\s+(--paper[^}]*)\}`).FindAllStringSubmatch(read(t, "panel.css"), -1)
	if len(sets) != 2 {
		t.Fatalf("the style sheet has %d sets of colors, expected light and dark", len(sets))
	}
	for i, where := range []string{"light", "dark"} {
		contrast.Verify(t, where, sets[i][1], [][2]string{
			{"ink", "paper"}, {"faint", "paper"}, {"ink", "head"}, {"faint", "head"}, {"accent", "paper"}, {"accent", "head"}, {"on-accent", "accent"},
			{"good", "paper"}, {"good", "good-paper"}, {"bad", "paper"}, {"bad", "bad-paper"}, {"paper", "bad"}, {"warn", "warn-paper"}, {"ink", "flash"},
		})
	}
}
