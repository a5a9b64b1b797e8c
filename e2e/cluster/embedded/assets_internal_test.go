package embedded

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestComponentsDoNotWaitForKubectl has a Go command that notes how it runs kind/kubernetes.
func TestComponentsDoNotWaitForKubectl(t *testing.T) {
	realGo, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	bin, assets := t.TempDir(), t.TempDir()
	calls := filepath.Join(bin, "calls")
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *' run '*) echo \"${*##*-until-eof}\" >>'%s'; echo '%s';; *) exec '%s' \"$@\";; esac\n", calls, assets, realGo)
	for _, file := range append([]string{filepath.Join(bin, "go")}, executablesIn(assets)...) {
		if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv(AssetsVariable, "")
	before := found.of
	t.Cleanup(func() { found.of = before })
	found.of = map[string]directories{}

	type finder = func(context.Context, string, io.Writer) (string, error)
	for _, version := range []string{Version, PreviousVersion} {
		for _, find := range []finder{ComponentsOf, ComponentsOf, AssetsOf, ComponentsOf, AssetsOf} {
			if dir, err := find(t.Context(), version, io.Discard); err != nil || dir != assets {
				t.Fatalf("got %s and %v, expected %s", dir, err, assets)
			}
		}
	}
	got, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	// For each version once without kubectl, and again when that is needed.
	want := []string{" -cluster", "", " -cluster -previous", " -previous"}
	if lines := strings.Split(strings.TrimSuffix(string(got), "\n"), "\n"); !slices.Equal(lines, want) {
		t.Errorf("kind/kubernetes is run with %q, expected %q", lines, want)
	}
}

// executablesIn are the paths of the components in a directory.
func executablesIn(dir string) []string {
	var paths []string
	for _, component := range components {
		paths = append(paths, filepath.Join(dir, component))
	}
	return paths
}

func TestFindVersion(t *testing.T) {
	for minor, want := range map[string]string{"v1.37": Version, "v1.36": PreviousVersion} {
		if got, err := FindVersion(minor); got != want || err != nil {
			t.Errorf("%s: got %q and %v, expected %s", minor, got, err, want)
		}
	}
	for _, minor := range []string{"v1.35", "1.36", "v1.36.0", "v1.37.0", "v1", "latest", ""} {
		want := fmt.Sprintf("unknown version of Kubernetes %q: use v1.36, or v1.37, which is the default", minor)
		if _, err := FindVersion(minor); err == nil || err.Error() != want {
			t.Errorf("%s: got the error %v, expected %s", minor, err, want)
		}
	}
}

// The programs that a variable names are of one version.
func TestNoPreviousVersionOfNamedPrograms(t *testing.T) {
	t.Setenv(AssetsVariable, t.TempDir())
	const want = "find the executables of Kubernetes " + PreviousVersion + ": " + AssetsVariable + " names others: unset it, or do not choose a version"
	if _, err := AssetsOf(t.Context(), PreviousVersion, io.Discard); err == nil || err.Error() != want {
		t.Errorf("got the error %v, expected %s", err, want)
	}
}

func TestOrigin(t *testing.T) {
	const address = "https://dl.k8s.io/release/v1.37.0/bin/linux/amd64/kube-apiserver"
	for name, c := range map[string]struct{ record, want string }{
		"downloaded":   {`{"size": 1, "origin": "` + address + `"}`, address},
		"compiled":     {`{"size": 1}`, ""},
		"not a record": {"{", ""},
		"no record":    {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.record != "" {
				if err := os.WriteFile(filepath.Join(dir, "kube-apiserver.json"), []byte(c.record), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := Origin(dir); got != c.want {
				t.Errorf("got %q, expected %q", got, c.want)
			}
		})
	}
}

// TestNoClone builds the executables in a module that requires the testbed as Go downloads it: without the modules inside it.
func TestNoClone(t *testing.T) {
	dir := t.TempDir()
	for path, content := range map[string]string{
		"go.mod":         "module example.com/own\n\nrequire github.com/example/operator-testbed v0.0.0\n\nreplace github.com/example/operator-testbed => ./testbed\n",
		"testbed/go.mod": "module github.com/example/operator-testbed\n",
	} {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	const want = "testbed is not a clone of operator-testbed"
	if _, err := build(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), AssetsVariable) {
		t.Errorf("got the error %v, expected that %s, and to set %s", err, want, AssetsVariable)
	}
}
