// Package build compiles the operator of a submission. Compiling runs nothing of what is compiled, so long as no tool and no C compiler
// is called: only the Go sources are taken, with the grader's own go.mod and go.sum, in an environment of which nothing is inherited.
// No program of a submission's is generated or run here.
package build

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/example/operator-testbed/tutorial/internal/grade/plain"
	"github.com/example/operator-testbed/tutorial/internal/isolation"
)

// RefusedError says in one sentence, and with the compiler's messages, why there is no executable. They have no names of the grader's
// directories.
type RefusedError string

func (r RefusedError) Error() string { return string(r) }

// Cell runs the compiler.
type Cell interface {
	Run(ctx context.Context, c isolation.Command) (isolation.Usage, error)
}

// Toolchain is the Go that compiles.
type Toolchain struct {
	// Root, Cache and Modules are $GOROOT, $GOCACHE and $GOMODCACHE.
	Root, Cache, Modules string
	// Mod and Sum are the go.mod and go.sum in place of the submission's.
	Mod, Sum []byte
}

// Options say what to compile.
type Options struct {
	Toolchain
	// Source is the submission. Nothing is written to it.
	Source string
	// Work is a directory of which nothing else is needed.
	Work string
	// Timeout bounds the compiler.
	Timeout time.Duration
	// Tests is the package whose tests are compiled, instead of the program; empty means none. Files take the place of the submission's, by
	// their paths in it.
	Tests string
	Files map[string][]byte
	// Trusted adds what was compiled to $GOCACHE. Otherwise a submission leaves nothing there, and takes no place of others.
	Trusted bool
}

// limits of what is compiled: fifty times what the finished operator has.
const (
	mostFiles, mostBytes = 5000, 32 << 20
	// memory is what the compiler and the linker may take together. What is trusted may have to be compiled with all that it needs.
	memory = 2 << 30
	// executable is how large the executable can get, and any other file; scratch is how much is written besides, all of it in memory.
	executable, scratch = 512 << 20, 2 << 30
	output              = 64 << 10
)

// Build compiles the package cmd of the submission, or the tests that the options name, and returns the executable. The error is a
// [RefusedError] if that is for the student to fix.
func Build(ctx context.Context, c Cell, o Options) (string, isolation.Usage, error) {
	source, out, temporary := filepath.Join(o.Work, "src"), filepath.Join(o.Work, "out"), filepath.Join(o.Work, "tmp")
	if err := errors.Join(os.MkdirAll(source, 0o755), os.MkdirAll(out, 0o755), os.MkdirAll(temporary, 0o755)); err != nil {
		return "", isolation.Usage{}, err
	}
	if err := copySources(o.Source, source, o.Tests); err != nil {
		return "", isolation.Usage{}, err
	}
	written := maps.Clone(o.Files)
	if written == nil {
		written = map[string][]byte{}
	}
	written["go.mod"], written["go.sum"] = o.Mod, o.Sum
	for name, content := range written {
		file := filepath.Join(source, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, content, 0o644)); err != nil {
			return "", isolation.Usage{}, err
		}
	}
	if _, err := os.Stat(filepath.Join(source, "cmd")); err != nil {
		return "", isolation.Usage{}, RefusedError("there is no Go code in the directory cmd, which the operator is compiled from")
	}
	readable, writable := []string{o.Root, o.Modules, source}, []string{out}
	limits := isolation.Limits{Time: o.Timeout, FileSize: executable, Scratch: scratch, Output: output}
	atOnce := "-p=4" // or a machine with many cores would need much memory
	if o.Trusted {
		writable, atOnce = append(writable, o.Cache), "-p="+strconv.Itoa(runtime.NumCPU())
	} else {
		readable, limits.Memory = append(readable, o.Cache), memory // what can't be added is compiled all the same
	}
	binary, command, target := filepath.Join(out, "operator"), []string{"build"}, "./cmd"
	if o.Tests != "" {
		binary, command, target = filepath.Join(out, "tests"), []string{"test", "-c", "-vet=off"}, "./"+o.Tests
	}
	var said bytes.Buffer
	usage, err := c.Run(ctx, isolation.Command{
		Args: slices.Concat([]string{filepath.Join(o.Root, "bin", "go")}, command,
			[]string{atOnce, "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false", "-ldflags=-s -w", "-o", binary, target}),
		Dir:      source,
		Env:      o.environment(temporary),
		Stdout:   &said,
		Stderr:   &said,
		Readable: readable,
		Writable: writable,
		Scratch:  []string{temporary},
		Limits:   limits,
	})
	switch {
	case err != nil:
		return "", usage, fmt.Errorf("compile the submission: %w", err)
	case usage.Exceeded != "":
		return "", usage, RefusedError(fmt.Sprintf("compiling it was stopped, because it exceeded the limit of %s", usage.Exceeded))
	case usage.Exit != 0:
		return "", usage, RefusedError("it does not compile:\n" + Plain(said.String(), source, o.Work, o.Modules, o.Root, o.Cache))
	}
	return binary, usage, nil
}

// environment is all that the Go command knows of this machine.
func (t Toolchain) environment(temporary string) []string {
	return []string{
		"GOROOT=" + t.Root, "GOCACHE=" + t.Cache, "GOMODCACHE=" + t.Modules, "TMPDIR=" + temporary, "HOME=" + temporary, "PATH=",
		"GOENV=off", "GOWORK=off", "GOFLAGS=-mod=readonly", "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOTELEMETRY=off",
		"GOVCS=*:off", "CGO_ENABLED=0",
	}
}

// copySources copies the Go files that can be part of an operator. Tests are not, except for those of one package, nor assembler, which
// may include other files, nor what is vendored or of another module, which the trusted go.mod does without.
func copySources(from, to, tests string) error {
	count, size := 0, int64(0)
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		within, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains([]string{"vendor", "testdata", ".git", "bin", "hack"}, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		isTest := strings.HasSuffix(path, "_test.go") && (tests == "" || filepath.ToSlash(filepath.Dir(within)) != tests)
		if filepath.Ext(path) != ".go" || isTest {
			return nil
		}
		if !entry.Type().IsRegular() {
			return RefusedError(fmt.Sprintf("%s is not a regular file: replace it by one", within))
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		size += int64(len(text))
		if count++; count > mostFiles || size > mostBytes {
			return RefusedError(fmt.Sprintf("it has more than %d Go files or %d MiB of them: leave out what is not the operator's", mostFiles, mostBytes>>20))
		}
		target := filepath.Join(to, within)
		return cmp.Or(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, text, 0o644))
	})
}

// absolute is a path on this machine.
var absolute = regexp.MustCompile(`(^|[\s"'(=:])/(?:[\w.@+~-]+/)+([\w.@+~-]*)`)

// most is how many lines of a compiler's messages are worth reading.
const most = 20

// Plain returns the messages of a program, shortened, without what a terminal obeys, the names of the directories, and any other absolute path.
func Plain(text string, directories ...string) string {
	text = plain.Visible(text)
	slices.SortFunc(directories, func(a, b string) int { return len(b) - len(a) })
	for _, directory := range directories {
		if directory != "" {
			text = strings.ReplaceAll(text, directory+"/", "")
		}
	}
	text = absolute.ReplaceAllString(text, "$1…/$2")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > most {
		lines = append(lines[:most], fmt.Sprintf("and %d more lines", len(lines)-most))
	}
	for i, line := range lines {
		if runes := []rune(line); len(runes) > 500 {
			lines[i] = string(runes[:500]) + "…"
		}
	}
	return strings.Join(lines, "\n")
}
