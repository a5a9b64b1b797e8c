package browser_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	tabs "github.com/example/operator-testbed/tutorial/browser"
)

func TestAxe(t *testing.T) {
	if program := tabs.Axe(t); !strings.Contains(program, "axe.run") {
		t.Errorf("axe-core has %d bytes, and no axe.run", len(program))
	}
}

// Where axe-core can't be had, or is not what it should be, tests are skipped, and the reason is named. In CI, they fail.
func TestWithoutAxe(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("another program")) }))
	t.Cleanup(other.Close)
	none := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(none.Close)
	for _, c := range []struct{ registry, ci, want, why string }{
		{none.URL, "", "--- SKIP: TestAxe", "404"},
		{none.URL, "true", "--- FAIL: TestAxe", "404"},
		{other.URL, "", "--- SKIP: TestAxe", "the hash is sha512-"},
		{other.URL, "true", "--- FAIL: TestAxe", "the hash is sha512-"},
	} {
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^TestAxe$")
		command.Env = []string{"PATH=" + t.TempDir(), "TESTBED_CACHE=" + t.TempDir(), "npm_config_registry=" + c.registry, "CI=" + c.ci}
		out, err := command.CombinedOutput()
		if failed := strings.Contains(c.want, "FAIL"); (err != nil) != failed || !strings.Contains(string(out), c.want) || !strings.Contains(string(out), c.why) {
			t.Errorf("CI=%s: got %s, %v, expected %s and %q", c.ci, out, err, c.want, c.why)
		}
	}
}
