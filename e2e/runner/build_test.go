package runner_test

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/runner"
)

// TestBuildKnowsNothingOfCommits builds a program in a repository of its own. An executable that holds the commit would be
// another one after each commit and each edit of a document: linked anew, and taken for a changed operator.
func TestBuildKnowsNothingOfCommits(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("this test makes a repository: install git")
	}
	t.Setenv("GOFLAGS", "-buildvcs=true") // where somebody has turned it off (go env -w), nothing would be seen
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":  "module example.com/program\n\ngo 1.26\n",
		"main.go": "package main\n\nfunc main() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"add", "."},
		{"-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false", "commit", "--quiet", "--message=test"},
	} {
		git := exec.CommandContext(t.Context(), "git", args...)
		git.Dir = dir
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}

	binary := filepath.Join(t.TempDir(), "program")
	if err := runner.Build(t.Context(), dir, ".", binary); err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	for _, setting := range info.Settings {
		if strings.HasPrefix(setting.Key, "vcs") {
			t.Errorf("the executable holds %s=%s", setting.Key, setting.Value)
		}
	}
}
