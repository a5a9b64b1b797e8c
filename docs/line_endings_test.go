package docs_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/tier"
)

// TestLineEndings checks the repository's files out with a git that is configured for Windows: not one has another line ending than
// what is committed, and so scripts start.
func TestLineEndings(t *testing.T) {
	tier.All(t)
	directory := t.TempDir()
	git := func(where string, arguments ...string) []byte {
		t.Helper()
		command := exec.CommandContext(t.Context(), "git", arguments...)
		command.Dir = where
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		out, err := command.Output()
		if err != nil {
			t.Fatalf("git %q: %v", arguments, err)
		}
		return out
	}
	// What is changed and not committed yet counts, too.
	copied := tracked(t)
	git(directory, "init", "--quiet")
	for _, file := range copied {
		content, err := os.ReadFile(filepath.Join(repository, file))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(directory, file)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git(directory, "add", "--all", "--force")
	git(directory, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=all")
	clone := filepath.Join(t.TempDir(), "clone")
	git(directory, "clone", "--quiet", "-c", "core.autocrlf=true", "-c", "core.eol=crlf", directory, clone)
	for _, file := range copied {
		want, err := os.ReadFile(filepath.Join(repository, file))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(clone, file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("with core.autocrlf=true, %s is checked out with other line endings: .gitattributes decides them", file)
		}
	}
	if status := git(clone, "status", "--porcelain"); strings.TrimSpace(string(status)) != "" {
		t.Errorf("git sees changes where there are none:\n%s", status)
	}
}
