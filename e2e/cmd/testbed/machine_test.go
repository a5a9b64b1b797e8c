package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/executable"
	"github.com/example/operator-testbed/e2e/tier"
)

// TestFirstCommandsOnAnyMachine types what a user types first in a clone that a git for Windows has checked out, in a directory with
// spaces below a go.work, with what WSL and many profiles export.
func TestFirstCommandsOnAnyMachine(t *testing.T) {
	tier.All(t)
	t.Parallel()
	b := newBed(t)
	above := filepath.Join(t.TempDir(), "my projects")
	clone, copied := filepath.Join(above, "test bed"), filepath.Join(above, "my operator")
	if err := os.MkdirAll(above, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(above, "go.work"), []byte("go 1.26.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cloneWithChanges(t, b.root, clone)

	b.state = filepath.Join(above, "state")
	t.Cleanup(func() { _ = b.command("testbed", "down").Run() })                // also after a failure
	if err := os.MkdirAll(filepath.Join(above, "scripts"), 0o755); err != nil { // for CDPATH to lead to
		t.Fatal(err)
	}
	run := func(directory string, words ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), words[0], words[1:]...)
		command.Dir = directory
		for _, variable := range os.Environ() { // without what a make that runs this test has set
			if name, _, _ := strings.Cut(variable, "="); !strings.HasPrefix(name, "MAKE") && name != "MFLAGS" && name != "TESTBED_GO_PROFILE" {
				command.Env = append(command.Env, variable)
			}
		}
		command.Env = append(command.Env, "TESTBED_STATE="+b.state,
			"NAME=DESKTOP-AB12CD", "GOFLAGS=-mod=vendor", "GO111MODULE=off", "GOWORK=", "STAGE=dev", "DEBUG=true", "ARCH=x86_64", "PORT=8080",
			"CDPATH="+above+":/usr", "GIT_DIR=/nowhere", "LC_ALL=C", "CLUSTER=embedded")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", words, err, out)
		}
		return string(out)
	}
	expect := func(out, want string) {
		t.Helper()
		if !strings.Contains(out, want) {
			t.Errorf("expected %q in\n%s", want, out)
		}
	}
	expect(run(clone, "make", "doctor"), "GOFLAGS=-mod=vendor, GO111MODULE=off, GOWORK="+filepath.Join(above, "go.work")+": make is not affected")
	expect(run(clone, "make", "demo"), "memcached-sample: 3/3 ready, Available=True")
	expect(run(clone, "sh", "-c", `eval "$(make -s env)" && kubectl get memcacheds`), "memcached-sample")
	run(clone, "make", "manifests", "STAGE=03-controller")
	run(clone, "make", "build-installer", "IMG=registry.example.com/operator:v1")
	run(clone, "make", "build-chart")
	run(clone, "make", "solution", "STAGE=03-controller", "DIR="+copied)
	expect(run(clone, "make", "check", "DIR="+copied), "5 of 5 features hold")
	run(copied, "make", "build")
	run(clone, "make", "down")
	if changed := run(clone, "git", "--git-dir=.git", "status", "--porcelain"); changed != "" {
		t.Errorf("what is generated in this clone is different:\n%s", changed)
	}
}

// cloneWithChanges clones a repository as a git for Windows does, with what is changed or added there and not committed.
func cloneWithChanges(t *testing.T, from, to string) {
	t.Helper()
	git := func(arguments ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "git", arguments...)
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		var stderr bytes.Buffer
		command.Stderr = &stderr
		out, err := command.Output()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", arguments, err, stderr.Bytes())
		}
		return string(out)
	}
	git("clone", "--quiet", "-c", "core.autocrlf=true", from, to)
	changed := 0
	for file := range strings.SplitSeq(git("-C", from, "ls-files", "-z", "--modified", "--others", "--exclude-standard"), "\x00") {
		content, err := os.ReadFile(filepath.Join(from, file))
		if file == "" || os.IsNotExist(err) {
			continue
		}
		info, statErr := os.Stat(filepath.Join(from, file))
		if err != nil || statErr != nil {
			t.Fatal(err, statErr)
		}
		path := filepath.Join(to, file)
		_ = os.Remove(path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := executable.Write(path, content, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
		changed++
	}
	if changed > 0 {
		git("-C", to, "add", "--all")
		git("-C", to, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=changes")
	}
}
