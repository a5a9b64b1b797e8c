package recipe

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// write writes a file below a directory.
func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestKeyFollowsItsInputs(t *testing.T) {
	var m GoMod
	m.Module.Path = "example.com/m"
	m.Tool = []struct{ Path string }{{"example.com/other/cmd/a"}, {"example.com/m/cmd/pause"}}
	settings := map[string]string{}
	for _, name := range Settings {
		settings[name] = "some"
	}
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/m\n")
	write(t, dir, "go.sum", "")
	write(t, dir, "cmd/pause/main.go", "package main\n")
	write(t, dir, "nested/go.mod", "module nested\n")
	var extra Extra
	key := func(m GoMod) string {
		t.Helper()
		inputs, err := m.Inputs(dir, settings, extra)
		if err != nil {
			t.Fatal(err)
		}
		return Key(inputs)
	}

	before := key(m)
	for _, other := range []string{"README.md", "cmd/pause/main_test.go", "nested/nested.go", "nested/go.sum"} {
		write(t, dir, other, "package other\n")
		if key(m) != before {
			t.Errorf("%s changes the key", other)
		}
	}
	settings["GOCACHE"] = "/elsewhere"
	if key(m) != before {
		t.Error("the key depends on where the build cache is")
	}

	seen := map[string]string{before: "nothing"}
	differs := func(m GoMod, what string) {
		t.Helper()
		if other := seen[key(m)]; other != "" {
			t.Errorf("the key does not depend on %s: it is that of %s", what, other)
		}
		seen[key(m)] = what
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if name != "GOCACHE" {
			settings[name] = "other"
			differs(m, name)
		}
	}
	for _, file := range []string{"go.mod", "go.sum", "cmd/pause/main.go"} {
		write(t, dir, file, "// changed\n")
		differs(m, file)
	}
	extra.Tags = []string{"some"}
	differs(m, "build tags")
	extra = Extra{Stamps: []Stamp{{"example.com/other", "example.com/other.version", "{version}"}}}
	differs(m, "more stamps")
	extra = Extra{}
	m.Tool = m.Tool[:1]
	differs(m, "whether it has programs of its own")
	own := key(m)
	write(t, dir, "cmd/pause/main.go", "// changed again\n")
	if key(m) != own {
		t.Error("files of the module change the key, though no tool is its own")
	}
}

func TestKeyTellsListsApart(t *testing.T) {
	if Key([]string{"ab", "c"}) == Key([]string{"a", "bc"}) || Key([]string{"a\nb"}) == Key([]string{"a", "b"}) {
		t.Error("two lists of inputs have one key")
	}
}

func TestInputsOfAMissingDirectory(t *testing.T) {
	if _, err := (GoMod{}).Inputs(filepath.Join(t.TempDir(), "nowhere"), nil, Extra{}); err == nil {
		t.Error("there is no error")
	}
}
