package runner_test

import (
	"crypto/rand"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/framework/runner"
)

// TestBuildKnowsNothingOfCommits builds a program in a repository of its own. An executable that holds the commit would be
// another one after each commit and each edit of a document: linked again, and taken for a changed operator.
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

// TestBuildLinksOnce builds a program that nobody has built before for two places, and for the first again: while somebody may run
// what is there, it is replaced, and never written to.
func TestBuildLinksOnce(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "links")
	for name, content := range map[string]string{
		"go.mod":  "module example.com/program\n\ngo 1.26\n",
		"main.go": "package main\n\nfunc main() { println(" + strconv.Quote(dir+rand.Text()) + ") }\n",
		"tool":    "#!/bin/sh\ncase $1$2 in */link-V=full) ;; */link*) echo >>'" + log + "' ;; esac\nexec \"$@\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOFLAGS", "-toolexec="+filepath.Join(dir, "tool"))
	var before os.FileInfo
	for _, place := range []string{"one", "two", "one"} {
		binary := filepath.Join(dir, place, "program")
		before, _ = os.Stat(binary)
		if err := runner.Build(t.Context(), dir, ".", binary); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), binary).CombinedOutput(); err != nil || !strings.HasPrefix(string(out), dir) {
			t.Errorf("it prints %q, %v", out, err)
		}
	}
	if after, err := os.Stat(filepath.Join(dir, "one", "program")); err != nil || os.SameFile(before, after) {
		t.Errorf("expected another file in the place of the first: %v", err)
	}
	if links, err := os.ReadFile(log); err != nil || len(links) != 1 {
		t.Errorf("expected that it is linked once, got %d times, %v", len(links), err)
	}
}

// TestBuildSuite builds a package's tests, and again: with nothing changed, with a change, and with a mistake.
func TestBuildSuite(t *testing.T) {
	root := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	suite := func(fails string) string {
		return "package suite\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) { " + fails + " }\n"
	}
	build := func() (string, os.FileInfo) {
		t.Helper()
		binary, err := runner.BuildSuite(t.Context(), root, "e2e/suite")
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(binary)
		if err != nil {
			t.Fatal(err)
		}
		return binary, info
	}
	write("go.mod", "module example.com/program\n\ngo 1.26\n")
	write("e2e/suite/suite_test.go", suite(""))
	binary, first := build()
	if out, err := exec.CommandContext(t.Context(), binary).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if _, again := build(); !os.SameFile(first, again) {
		t.Error("it was linked again though nothing has changed")
	}
	write("e2e/suite/suite_test.go", suite(`t.Error("changed")`))
	_, changed := build()
	if os.SameFile(first, changed) {
		t.Error("it was not linked again, or over the one that may be running")
	}
	if out, err := exec.CommandContext(t.Context(), binary).CombinedOutput(); err == nil || !strings.Contains(string(out), "changed") {
		t.Errorf("after a change it says %v: %s", err, out)
	}
	write("e2e/suite/suite_test.go", suite("nonsense"))
	if _, err := runner.BuildSuite(t.Context(), root, "e2e/suite"); err == nil || !strings.Contains(err.Error(), "undefined: nonsense") {
		t.Errorf("a suite that does not compile: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(binary)); err != nil || len(entries) != 1 {
		t.Errorf("in the directory of suites are %v, %v, expected one", entries, err)
	}
}
