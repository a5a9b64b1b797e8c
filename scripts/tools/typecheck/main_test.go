package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module makes a module of files, given as name and content in turn.
func module(t *testing.T, goVersion string, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	files = append(files, "go.mod", "module example.com/m\n\ngo "+goVersion+"\n")
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// expect fails the test unless a check fails with a text, or passes if it is "".
func expect(t *testing.T, dir, platform string, tests bool, says string) {
	t.Helper()
	_, err := run(dir, platform, tests, []string{"./..."})
	switch {
	case says == "" && err != nil:
		t.Errorf("%s: %v", platform, err)
	case says != "" && (err == nil || !strings.Contains(err.Error(), says)):
		t.Errorf("%s: got %v, expected an error that says %q", platform, err, says)
	}
}

func TestFindsErrorsOfOnePlatform(t *testing.T) {
	dir := module(t, "1.26",
		"a/a.go", "package a\n\nimport \"example.com/m/b\"\n\nvar A string = b.B\n",
		"b/b_linux.go", "package b\n\nconst B = \"b\"\n",
		"b/b_darwin.go", "package b\n\nconst B = 1\n")
	expect(t, dir, "linux/arm64", false, "")
	expect(t, dir, "darwin/arm64", false, "cannot use b.B")
}

func TestLooksIntoFunctions(t *testing.T) {
	dir := module(t, "1.26", "a.go", "package a\n\nfunc A() { undefined() }\n")
	expect(t, dir, "linux/arm64", false, "undefined: undefined")
}

func TestFindsSyntaxErrors(t *testing.T) {
	dir := module(t, "1.26", "a.go", "package a\n\nfunc A() {\n")
	expect(t, dir, "linux/arm64", false, "a.go:3")
}

func TestKnowsTheSizeOfAnInt(t *testing.T) {
	dir := module(t, "1.26", "a.go", "package a\n\nconst A int = 1 << 40\n")
	expect(t, dir, "linux/arm64", false, "")
	expect(t, dir, "linux/arm", false, "(overflows)")
}

func TestFollowsTheModulesGoVersion(t *testing.T) {
	files := []string{"a.go", "package a\n\nfunc A() {\n\tfor range 3 {\n\t}\n}\n"}
	expect(t, module(t, "1.22", files...), "linux/arm64", false, "")
	expect(t, module(t, "1.21", files...), "linux/arm64", false, "requires go1.22 or later")
}

func TestChecksTestsWhenAsked(t *testing.T) {
	dir := module(t, "1.26",
		"a.go", "package a\n",
		"export_test.go", "package a\n\nconst Exported = 1\n",
		"a_test.go", "package a_test\n\nimport \"example.com/m\"\n\nvar _ string = a.Exported\n")
	expect(t, dir, "linux/arm64", false, "")
	expect(t, dir, "linux/arm64", true, "cannot use a.Exported")
}

func TestFindsPackagesWithoutFiles(t *testing.T) {
	dir := module(t, "1.26",
		"a/a.go", "package a\n\nimport _ \"example.com/m/b\"\n",
		"b/b_linux.go", "package b\n")
	expect(t, dir, "linux/arm64", false, "")
	expect(t, dir, "darwin/arm64", false, "build constraints exclude all Go files")
}

func TestRejectsInvalidPlatforms(t *testing.T) {
	dir := module(t, "1.26", "a.go", "package a\n")
	expect(t, dir, "linux", false, "write it as linux/arm64")
	expect(t, dir, "linux/nope", false, `unknown architecture "nope"`)
}
