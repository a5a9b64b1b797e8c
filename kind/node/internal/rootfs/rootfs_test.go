package rootfs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var spec = Spec{Name: "node", Variant: "minbase", Packages: []string{"systemd", "jq"}, Files: "/a b", FilesVersion: "v1", Setup: []string{"true"}}

func TestArgs(t *testing.T) {
	args := spec.args("arm64", "/out.tar", "")
	for _, want := range []string{"--architectures=arm64", "--include=systemd,jq", `--customize-hook=sync-in "/a b" /`, "--customize-hook=set -eu\ntrue"} {
		if !slices.Contains(args, want) {
			t.Errorf("the arguments lack %q: %q", want, args)
		}
	}
	if last := args[len(args)-2:]; !slices.Equal(last, []string{suite, "/out.tar"}) {
		t.Errorf("the last arguments are %q", last)
	}
	unpacked := spec
	unpacked.Variant = "extract"
	if args := unpacked.args("arm64", "/out.tar", ""); !slices.Contains(args, "--extract-hook=set -eu\ntrue") {
		t.Errorf("the hook is one that this variant does not run: %q", args)
	}
	if with := spec.args("arm64", "/out.tar", "http://mirror"); with[len(with)-1] != "http://mirror" {
		t.Errorf("the mirror is not passed on: %q", with)
	}
}

func TestMadeAgainWhenSomethingChanges(t *testing.T) {
	seen := map[string]string{spec.Key("amd64"): "the first"}
	for name, change := range map[string]func(*Spec){
		"packages": func(s *Spec) { s.Packages = []string{"systemd"} },
		"variant":  func(s *Spec) { s.Variant = "extract" },
		"files":    func(s *Spec) { s.FilesVersion = "v2" },
		"setup":    func(s *Spec) { s.Setup = nil },
	} {
		other := spec
		change(&other)
		key := other.Key("amd64")
		if before := seen[key]; before != "" {
			t.Errorf("%s has the key of %s", name, before)
		}
		seen[key] = name
	}
	elsewhere := spec
	elsewhere.Files = "/elsewhere"
	if elsewhere.Key("amd64") != spec.Key("amd64") {
		t.Error("the key depends on where the files are")
	}
	if spec.Key("arm64") == spec.Key("amd64") {
		t.Error("the key does not depend on the architecture")
	}
}

func TestWhatIsThereIsNotMadeAgain(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir) // no mmdebstrap
	if _, err := spec.Make(t.Context(), dir, "amd64", "", func(string) {}); err == nil || !strings.Contains(err.Error(), "apt-get install mmdebstrap") {
		t.Errorf("got %v", err)
	}
	file := filepath.Join(dir, "node-"+spec.Key("amd64")+".tar")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := spec.Make(t.Context(), dir, "amd64", "", func(string) {}); err != nil || got != file {
		t.Errorf("got %s and %v", got, err)
	}
}

func TestErrorHasTheFirstComplaints(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\nprintf 'I: downloading packages...\\nErr:1 http://deb.debian.org Could not connect\\nE: apt-get update failed\\n' >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "mmdebstrap"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	var said []string
	_, err := spec.Make(t.Context(), dir, "amd64", "", func(line string) { said = append(said, line) })
	if !slices.Equal(said, []string{"downloading packages..."}) {
		t.Errorf("said %q", said)
	}
	want := "mmdebstrap bookworm " + filepath.Join(dir, "unfinished-node.tar") + " failed (exit status 1): Err:1 http://deb.debian.org Could not connect; apt-get update failed: connect this machine to a Debian mirror"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
