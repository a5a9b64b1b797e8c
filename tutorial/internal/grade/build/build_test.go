package build_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/reaper"
	"github.com/example/operator-testbed/tutorial/internal/grade/build"
	"github.com/example/operator-testbed/tutorial/internal/isolation"
)

func TestMain(m *testing.M) {
	isolation.Main()
	os.Exit(reaper.Run(m))
}

// walls returns none: what they keep out is tested elsewhere.
func walls(t *testing.T) isolation.Walls {
	t.Helper()
	none, err := isolation.Choose(t.Context(), isolation.WantNone)
	if err != nil {
		t.Fatal(err)
	}
	return none
}

// toolchain returns this machine's Go, with a go.mod that requires nothing.
func toolchain(t *testing.T) build.Toolchain {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs := strings.Split(strings.TrimSpace(string(out)), "\n")
	return build.Toolchain{Root: dirs[0], Cache: dirs[1], Modules: dirs[2], Mod: []byte("module example.com/own\n\ngo 1.26\n")}
}

// files writes files to a new directory.
func files(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const prints = "package main\n\nimport \"os\"\n\nfunc main() { _, _ = os.Stdout.WriteString(word + \"\\n\") }\n"

// TestBuild compiles what would do harm, or not compile, if anything but the operator's Go code counted.
func TestBuild(t *testing.T) {
	work := t.TempDir()
	marker := filepath.Join(work, "marker")
	tool := filepath.Join(work, "tool")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\ntouch '"+marker+"'\nexec \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-toolexec="+tool)
	source := files(t, map[string]string{
		"cmd/main.go":             prints + "\n//go:generate touch " + marker + "\n",
		"cmd/word.go":             "package main\n\nconst word = \"right\"\n",
		"cmd/word_cgo.go":         "package main\n\n// #include \"/etc/passwd\"\nimport \"C\"\n",
		"cmd/word.s":              "#include \"/etc/passwd\"\n",
		"cmd/main_test.go":        "package main\n\nfunc init() { wrong }\n",
		"go.mod":                  "module example.com/other\n\ngo 1.26\n\ntoolchain go1.99.0\n\nreplace example.com/x => /etc\n",
		"go.work":                 "go 1.99\n",
		"vendor/modules.txt":      "# example.com/x v1.0.0\n",
		"cmd/vendor/x/x.go":       "package x\n\nfunc init() { wrong }\n",
		"hack/tools/cmd/wrong.go": "package wrong\n\nfunc init() { wrong }\n",
	})
	binary, usage, err := build.Build(t.Context(), walls(t), build.Options{Toolchain: toolchain(t), Source: source, Work: work})
	if err != nil {
		t.Fatal(err)
	}
	if usage.CPU == 0 {
		t.Error("compiling has taken no processor time")
	}
	if out, err := exec.CommandContext(t.Context(), binary).Output(); err != nil || string(out) != "right\n" {
		t.Errorf("the program prints %q: %v", out, err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a generator or a tool has run")
	}

	// Its twins: with the settings of this machine, the tool runs, and with the files that are left out, nothing compiles.
	plain := func(dir, flags string) error {
		command := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(work, "plain"), "./cmd")
		command.Dir, command.Env = dir, append(os.Environ(), "GOFLAGS="+flags, "GOTOOLCHAIN=local", "GOPROXY=off")
		return command.Run()
	}
	_ = plain(files(t, map[string]string{"cmd/main.go": "package main\n\nfunc main() {}\n", "go.mod": "module example.com/own\n"}), os.Getenv("GOFLAGS"))
	if _, err := os.Stat(marker); err != nil {
		t.Errorf("the tool does not run where it could: %v", err)
	}
	if plain(source, "") == nil {
		t.Error("the submission compiles as it is, so there was nothing to leave out")
	}
}

func TestRefused(t *testing.T) {
	main := map[string]string{"cmd/main.go": prints}
	for name, test := range map[string]struct {
		files map[string]string
		link  string
		want  string
	}{
		"a mistake": {main, "", "it does not compile:\n# example.com/own/cmd\ncmd/main.go:5:44: undefined: word"},
		"a module that is not required": {
			map[string]string{"cmd/main.go": "package main\n\nimport _ \"example.com/x\"\n\nfunc main() {}\n"}, "",
			"it does not compile:\ncmd/main.go:3:8: cannot find module providing package example.com/x: import lookup disabled by -mod=readonly",
		},
		"a package that is in no module": {
			map[string]string{"cmd/main.go": "package main\n\nimport _ \"own/x\"\n\nfunc main() {}\n"}, "",
			"it does not compile:\ncmd/main.go:3:8: package own/x is not in std (src/own/x)",
		},
		// Where a terminal obeys them, these erase the screen, and turn what comes after them around.
		"a name with control characters": {
			map[string]string{"cmd/main.go": "package main\n\n//line x\u009b2J\x1b[2J\u202e\x7f.go:7\nfunc main() { wrong }\n"}, "",
			"it does not compile:\n# example.com/own/cmd\nx.go:7: undefined: wrong",
		},
		"a file that is embedded": {
			map[string]string{"cmd/main.go": "package main\n\nimport _ \"embed\"\n\n//go:embed word.txt\nvar word string\n\nfunc main() {}\n", "cmd/word.txt": "word"}, "",
			"it does not compile:\ncmd/main.go:5:12: pattern word.txt: no matching files found",
		},
		"a file outside that is embedded": {
			map[string]string{"cmd/main.go": "package main\n\nimport _ \"embed\"\n\n//go:embed ../../../../../../etc/passwd\nvar word string\n\nfunc main() {}\n"}, "",
			"it does not compile:\ncmd/main.go:5:12: pattern ../../../../../../etc/passwd: invalid pattern syntax",
		},
		"flags for the linker": {
			map[string]string{"cmd/main.go": "package main\n\n//go:cgo_ldflag \"-Wl,-rpath=/etc\"\n\nfunc main() {}\n"}, "",
			"it does not compile:\n# example.com/own/cmd\ncmd/main.go:3:3: //go:cgo_ldflag \"-Wl,-rpath=/etc\" only allowed in cgo-generated code",
		},
		"the runtime's own functions": {
			map[string]string{"cmd/main.go": "package main\n\nimport _ \"unsafe\"\n\n//go:linkname gopark runtime.goexit0\nfunc gopark()\n\nfunc main() { gopark() }\n"}, "",
			"it does not compile:\n# example.com/own/cmd\nlink: main: invalid reference to runtime.goexit0",
		},
		"a file of this machine's in a line directive": {
			map[string]string{"cmd/main.go": "package main\n\n//line /etc/passwd:1\nfunc main() { wrong }\n"}, "",
			"it does not compile:\n# example.com/own/cmd\n…/passwd:1: undefined: wrong",
		},
		"no program": {map[string]string{"main.go": prints}, "", "there is no Go code in the directory cmd, which the operator is compiled from"},
		"a link":     {main, "cmd/link.go", "cmd/link.go is not a regular file: replace it by one"},
	} {
		t.Run(name, func(t *testing.T) {
			source := files(t, test.files)
			if test.link != "" {
				if err := os.Symlink("/etc/passwd", filepath.Join(source, test.link)); err != nil {
					t.Fatal(err)
				}
			}
			_, _, err := build.Build(t.Context(), walls(t), build.Options{Toolchain: toolchain(t), Source: source, Work: t.TempDir()})
			if refusal := build.RefusedError(""); !errors.As(err, &refusal) || string(refusal) != test.want {
				t.Errorf("got %q, expected %q", err, test.want)
			}
		})
	}
}

// TestLeavesNothing compiles in a cell, and finds nothing of the submission in the cache that the next one is compiled with.
func TestLeavesNothing(t *testing.T) {
	cell, err := isolation.Choose(t.Context(), isolation.WantOuter)
	if err != nil {
		t.Skipf("there is no cell: %v", err)
	}
	word := "left-behind-" + rand.Text()
	source := files(t, map[string]string{"cmd/main.go": prints, "cmd/word.go": "package main\n\nconst word = \"" + word + "\"\n", "go.mod": "module example.com/own\n"})
	began := time.Now()
	toolchain, work := toolchain(t), t.TempDir()
	binary, _, err := build.Build(t.Context(), cell, build.Options{Toolchain: toolchain, Source: source, Work: work})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), binary).Output(); err != nil || string(out) != word+"\n" {
		t.Errorf("the program prints %q: %v", out, err)
	}
	if found := since(t, toolchain.Cache, began, word); len(found) > 0 {
		t.Errorf("the submission is in Go's cache: %q", found)
	}
	if found := since(t, work, began, word); !slices.Equal(found, []string{"out/operator", "src/cmd/word.go"}) {
		t.Errorf("the compiler has left %q", found)
	}

	// The twin.
	command := exec.CommandContext(t.Context(), "go", "build", "-o", os.DevNull, "./cmd")
	command.Dir, command.Env = source, append(os.Environ(), "GOFLAGS=")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if found := since(t, toolchain.Cache, began, word); len(found) == 0 {
		t.Error("where the cache can be written to, it has nothing, either")
	}
}

// since returns the files below a directory, changed since then, in which there is a word.
func since(t *testing.T, dir string, then time.Time, word string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // others use the cache, too
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		if info, err := entry.Info(); err != nil || info.ModTime().Before(then.Add(-time.Second)) || info.Size() > 100<<20 {
			return nil //nolint:nilerr // as above
		}
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(word)) {
			within, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			found = append(found, filepath.ToSlash(within))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// endless is a cell whose command is never done.
type endless struct{}

func (endless) Run(context.Context, isolation.Command) (isolation.Usage, error) {
	return isolation.Usage{Exceeded: isolation.ExceededTime}, nil
}

func TestEndless(t *testing.T) {
	_, _, err := build.Build(t.Context(), endless{}, build.Options{Source: files(t, map[string]string{"cmd/main.go": prints}), Work: t.TempDir()})
	if want := build.RefusedError("compiling it was stopped, because it exceeded the limit of time"); !errors.Is(err, want) {
		t.Errorf("got %v, expected %v", err, want)
	}
}
