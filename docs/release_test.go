package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// job is what the tests need of a job of a workflow.
type job struct {
	Strategy struct {
		Matrix struct{ Platform []string }
	}
	Steps []struct{ Run string }
}

// runs returns the commands of a job of the release workflow.
func runs(t *testing.T, name string) (job, []string) {
	t.Helper()
	var workflow struct{ Jobs map[string]job }
	if err := yaml.Unmarshal([]byte(read(t, ".github/workflows/release.yml")), &workflow); err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, step := range workflow.Jobs[name].Steps {
		if step.Run != "" {
			commands = append(commands, step.Run)
		}
	}
	if len(commands) == 0 {
		t.Fatalf("the release workflow has no job %s that runs anything", name)
	}
	return workflow.Jobs[name], commands
}

// shell runs commands as a step of a workflow does, and returns what they print.
func shell(t *testing.T, directory, commands string, environment ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail", "-c", commands)
	command.Dir = directory
	command.Env = append(os.Environ(), environment...)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", commands, err, out)
	}
	return string(out)
}

// TestReleaseBundles checks the platforms that the workflow makes bundles for, and their names, against the page about them.
func TestReleaseBundles(t *testing.T) {
	bundle, commands := runs(t, "bundle")
	if want := []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"}; !slices.Equal(bundle.Strategy.Matrix.Platform, want) {
		t.Errorf("there are bundles for %q, expected %q", bundle.Strategy.Matrix.Platform, want)
	}
	for _, platform := range bundle.Strategy.Matrix.Platform {
		file := "operator-testbed-" + platform + ".tar.gz"
		want := "bundle PLATFORMS=" + strings.Replace(platform, "-", "/", 1) + " BUNDLE=dist/" + file + "\n"
		if got := shell(t, t.TempDir(), "make() { echo \"$@\"; }\n"+commands[0], "PLATFORM="+platform); got != want {
			t.Errorf("the workflow runs make %s, expected %s", got, want)
		}
	}
	if page := read(t, "docs/air-gap.md"); !strings.Contains(page, "/operator-testbed-linux-amd64.tar.gz") {
		t.Error("docs/air-gap.md does not name a file of a release")
	}
}

// TestReleasePublishes runs the last job with a fake of GitHub's command line.
func TestReleasePublishes(t *testing.T) {
	if _, err := exec.LookPath("sha256sum"); err != nil {
		t.Skip("the workflow runs on Linux, and this machine has no sha256sum")
	}
	_, commands := runs(t, "publish")
	const gh = `gh() {
	echo "gh $*"
	[ "$1 $2" = "run download" ] || return 0
	mkdir -p artifacts/linux-amd64 artifacts/sbom
	echo bundle >artifacts/linux-amd64/b.tar.gz
	echo sbom >artifacts/sbom/manager.spdx.json
	(cd artifacts/linux-amd64 && sha256sum b.tar.gz >b.tar.gz.sha256)
}
`
	work := t.TempDir()
	var said string
	for _, command := range commands {
		said += shell(t, work, gh+command, "RUN=17", "TAG=v1.0.0")
	}
	want := "gh run download 17 --dir artifacts\nb.tar.gz: OK\n" +
		"gh release create v1.0.0 dist/b.tar.gz dist/b.tar.gz.sha256 dist/manager.spdx.json --verify-tag --generate-notes\n"
	if said != want {
		t.Errorf("the workflow runs\n%s\nexpected\n%s", said, want)
	}
	damaged := filepath.Join(work, "dist", "b.tar.gz")
	if err := os.WriteFile(damaged, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	check := exec.CommandContext(t.Context(), "bash", "-c", commands[1])
	check.Dir = work
	if out, err := check.CombinedOutput(); err == nil {
		t.Errorf("a damaged bundle is published: %s", out)
	}
}
