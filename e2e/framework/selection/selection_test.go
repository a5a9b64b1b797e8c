package selection_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/framework/selection"
)

const sound = `
both:
- because: pods end
  features:
    cache: [TestSize]
simulated:
- because: the API server decides
  features:
    cache: [TestSchema, TestPort]
    other: [TestSize]
`

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "selection.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSelection(t *testing.T) {
	s, err := selection.Read(file(t, sound))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ suite, test, leftOut, both string }{
		{"cache", "TestSchema", "the API server decides", ""},
		{"cache", "TestSize", "", "pods end"},
		{"other", "TestSize", "the API server decides", ""},
		{"other", "TestSchema", "", ""},
		{"third", "TestSize", "", ""},
	} {
		if got := s.LeftOut(c.suite, c.test); got != c.leftOut {
			t.Errorf("%s of %s is left out because %q, want %q", c.test, c.suite, got, c.leftOut)
		}
		if got := s.RunsOnBoth(c.suite, c.test); got != c.both {
			t.Errorf("%s of %s runs on both because %q, want %q", c.test, c.suite, got, c.both)
		}
	}
	if got, want := s.Names("cache"), []string{"TestPort", "TestSchema", "TestSize"}; !slices.Equal(got, want) {
		t.Errorf("the file names %q of cache, want %q", got, want)
	}
	if got, want := s.Suites(), []string{"cache", "other"}; !slices.Equal(got, want) {
		t.Errorf("the file names the suites %q, want %q", got, want)
	}
	if got := (*selection.Selection)(nil).LeftOut("cache", "TestSchema"); got != "" {
		t.Errorf("without a file, TestSchema is left out because %q", got)
	}
}

func TestReadRefuses(t *testing.T) {
	for want, content := range map[string]string{
		"gives no reason":                           strings.Replace(sound, "the API server decides", `" "`, 1),
		"TestSize of the suite cache is in two":     strings.Replace(sound, "[TestSchema, TestPort]", "[TestSize]", 1),
		`unknown field "simulate"`:                  strings.Replace(sound, "simulated:", "simulate:", 1),
		"its features, such as TestSize of cache, ": strings.Replace(sound, "pods end", `""`, 1),
	} {
		if _, err := selection.Read(file(t, content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	if _, err := selection.Read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there is read without an error")
	}
}
