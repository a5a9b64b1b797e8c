// Package toy holds what tests build instead of Kubernetes: a module whose tool
// lines name two tiny programs of its own, and stand-ins for the go command that
// fail in ways the real one rarely does.
package toy

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Module makes a module with the programs alpha and beta, which import one package
// that no build cache has seen.
func Module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	Write(t, dir, "go.mod", "module example.com/toy\n\ngo 1.26.0\n\ntool (\n\texample.com/toy/cmd/alpha\n\texample.com/toy/cmd/beta\n)\n")
	Write(t, dir, "shared/shared.go", fmt.Sprintf("package shared\n\nimport \"os\"\n\nconst Nonce = %q\n\nfunc Say(s string) { os.Stdout.WriteString(s + \"\\n\") }\n", dir))
	for _, name := range []string{"alpha", "beta"} {
		Write(t, dir, "cmd/"+name+"/main.go", fmt.Sprintf("package main\n\nimport \"example.com/toy/shared\"\n\nfunc main() { shared.Say(%q) }\n", name))
	}
	return dir
}

// Write writes a file of a module.
func Write(t *testing.T, module, name, content string) {
	t.Helper()
	file := filepath.Join(module, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

// Go is a go command that runs a script first when its arguments contain a text.
func Go(t *testing.T, arguments, script string) string {
	t.Helper()
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	Write(t, dir, "go", fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *%s*)\n%s\nesac\nexec %q \"$@\"\n", arguments, script, goCommand))
	return filepath.Join(dir, "go")
}

// compile is how the go command is asked to compile.
const compile = "-export"

// Failing is a go command that prints a text and fails when it should compile.
func Failing(t *testing.T, says string) string {
	t.Helper()
	return Go(t, compile, "cat >&2 <<'END'\n"+says+"\nEND\nexit 1")
}

// Hanging is a go command that starts a compiler when it should compile. Neither
// exits before it is stopped, or only much too late. While they run, they hold a
// pipe open: see Await.
func Hanging(t *testing.T) (goCommand, pipe string) {
	t.Helper()
	pipe = filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	return Go(t, compile, "exec 3>'"+pipe+"'\nsleep 600 >/dev/null 2>&1 &\nwait"), pipe
}

// Await waits until a Hanging go command compiles. The function that it returns
// waits until that command and its compiler are gone.
func Await(t *testing.T, pipe string) (gone func()) {
	t.Helper()
	f, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	return func() { _, _ = io.Copy(io.Discard, f) }
}
