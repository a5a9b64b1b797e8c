package recipe

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSourcesFollowOwnGoFilesOnly(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sources := func() string {
		t.Helper()
		content, err := Sources(dir)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	write("cmd/pause/main.go", "package main\n")
	write("nested/go.mod", "module nested\n")
	before := sources()
	for _, other := range []string{"README.md", "cmd/pause/main_test.go", "nested/nested.go", "nested/go.sum"} {
		write(other, "package other\n")
		if sources() != before {
			t.Errorf("%s changes the sources", other)
		}
	}
	write("cmd/pause/main.go", "package main // changed\n")
	if sources() == before {
		t.Error("a change of a file does not change the sources")
	}
}

func TestOwnProgramsAreKeyedByTheirFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	packages := Packages{"example.com/m/cmd/pause": {
		ImportPath: "example.com/m/cmd/pause", Name: "main", Dir: dir, GoFiles: []string{"main.go"},
		Module: &Module{Path: "example.com/m", Main: true},
	}}
	key := func(content string) string {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return keys(t, packages, linux)["pause"]
	}
	one, other, again := key("package main // 1"), key("package main // 2"), key("package main // 1")
	if one == other || one != again {
		t.Errorf("the keys are %s, %s, %s", one, other, again)
	}
}

func TestTools(t *testing.T) {
	var m Manifest
	m.Module.Path = "example.com/m"
	for _, path := range []string{"go.etcd.io/etcd/server/v3", "example.com/other/cmd/pause"} {
		m.Tool = append(m.Tool, struct{ Path string }{path})
	}
	if m.HasOwnTools() {
		t.Error("a tool of another module counts as its own")
	}
	for name, c := range map[string]struct {
		names []string
		want  int
		fails bool
	}{
		"all":     {nil, 2, false},
		"one":     {[]string{"etcd"}, 1, false},
		"unknown": {[]string{"etcd", "kubelet"}, 0, true},
	} {
		if got, err := m.Tools(c.names); len(got) != c.want || (err != nil) != c.fails {
			t.Errorf("%s: got %q and %v", name, got, err)
		}
	}
	m.Tool = append(m.Tool, struct{ Path string }{"example.com/m/cmd/coredns"})
	if !m.HasOwnTools() {
		t.Error("its own tool is not seen")
	}
}
