package gocommand_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/host/gocommand"
)

// profile is what a user's shell exports. t restores it.
func profile(t *testing.T, variables map[string]string) {
	t.Helper()
	for _, name := range []string{"GOWORK", "GO111MODULE", "GOFLAGS", "CGO_ENABLED", "GOOS", "GOARCH", "GOROOT", "GOAMD64", "GOARM64", "GOEXPERIMENT", gocommand.FlagsVariable, gocommand.ProfileVariable} {
		t.Setenv(name, variables[name])
	}
}

// TestSetup compiles and runs a program below a go.work that does not list its module, with the settings that most often break a build.
func TestSetup(t *testing.T) {
	directory := t.TempDir()
	for name, text := range map[string]string{
		"go.work":               "go 1.26.0\n",
		"program/go.mod":        "module example.com/program\n\ngo 1.26.0\n",
		"program/run.go":        "package main\n\nimport \"example.com/program/inner\"\n\nfunc main() { println(inner.Text) }\n",
		"program/inner/text.go": "package inner\n\nconst Text = \"it runs\"\n",
		"env":                   "GOFLAGS=-mod=vendor\nGOOS=plan9\nGO111MODULE=off\n",
	} {
		path := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	build := func(t *testing.T) (string, error) {
		command := exec.CommandContext(t.Context(), goCommand, "run", ".")
		command.Dir = filepath.Join(directory, "program")
		out, err := command.CombinedOutput()
		return string(out), err
	}
	for name, variables := range map[string]map[string]string{
		"a go.work":                   {},
		"GOFLAGS=-mod=vendor":         {"GOFLAGS": "-mod=vendor"},
		"GO111MODULE=off":             {"GO111MODULE": "off"},
		"another platform":            {"GOOS": "plan9", "GOARCH": "mips"},
		"another installation":        {"GOROOT": "/nowhere"},
		"an experiment there is not":  {"GOEXPERIMENT": "nosuch"},
		"all of it, with go env -w":   {"GOENV": filepath.Join(directory, "env"), "GOFLAGS": "-mod=vendor", "GOWORK": filepath.Join(directory, "go.work")},
		"what go env -w has, no more": {"GOENV": filepath.Join(directory, "env")},
	} {
		t.Run(name, func(t *testing.T) {
			profile(t, variables)
			t.Setenv("GOENV", variables["GOENV"])
			if out, err := build(t); err == nil {
				t.Fatalf("without Setup, nothing is wrong: %s", out)
			}
			if err := gocommand.Setup(); err != nil {
				t.Fatal(err)
			}
			if out, err := build(t); err != nil || !strings.HasSuffix(out, "it runs\n") {
				t.Errorf("after Setup: %v\n%s", err, out)
			}
		})
	}
}

func TestProfile(t *testing.T) {
	profile(t, map[string]string{"GOFLAGS": "-mod=vendor -p=1", "GOOS": runtime.GOOS, "GOROOT": "/opt/go", "CGO_ENABLED": "1", gocommand.FlagsVariable: "-p=2"})
	if err := gocommand.Setup(); err != nil {
		t.Fatal(err)
	}
	want := []string{"GOFLAGS=-mod=vendor -p=1", "GOROOT=/opt/go"}
	if got := gocommand.Profile(); !slices.Equal(got, want) {
		t.Errorf("the profile is %q, expected %q", got, want)
	}
	if got := os.Getenv("GOFLAGS"); got != "-trimpath -buildvcs=false -gcflags=all=-dwarf=false -p=2" {
		t.Errorf("GOFLAGS is %q", got)
	}
	// A program that the first one runs does not take its settings for the user's.
	if err := gocommand.Setup(); err != nil {
		t.Fatal(err)
	}
	if got := gocommand.Profile(); !slices.Equal(got, want) {
		t.Errorf("the second time, the profile is %q, expected %q", got, want)
	}
	if rest := gocommand.Unset([]string{"GOFLAGS=-x", "GOPROXY=off", "PATH=/bin"}); !slices.Equal(rest, []string{"GOPROXY=off", "PATH=/bin"}) {
		t.Errorf("without the settings, the environment is %q", rest)
	}
}
