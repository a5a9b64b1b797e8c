// Package assets makes sure that the programs which a module's tool lines name
// are built and in the cache, and says where.
//
// Package recipe decides what they are built from, and so their key. Package store
// keeps the programs of one key in one directory. Ensure joins the two: under a
// lock, it lets the go command compile what is missing, on all processors, and then
// link one program after the other. What is compiled is the go command's to keep,
// so a build that was stopped continues where it was.
//
// Where it may, Ensure downloads the programs that their projects release, with
// packages release and download, and compiles only the others. See way.go.
package assets

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/example/operator-testbed/kind/build/internal/recipe"
	"github.com/example/operator-testbed/kind/build/internal/release"
	"github.com/example/operator-testbed/kind/build/internal/store"
	"github.com/example/operator-testbed/kind/build/lock"
	"github.com/example/operator-testbed/kind/build/program"
	"github.com/example/operator-testbed/kind/build/progress"
)

// Options say what is built, where it is kept and how its progress is shown.
type Options struct {
	// Module is the directory of the module whose tool lines name the programs.
	Module string
	// Programs are the names of those of them that are wanted; none means all.
	Programs []string
	// Along are more of them, which come along where they are downloaded. They are not
	// compiled, because they are not needed yet.
	Along []string
	// From is a directory that Ensure has returned for another module. Programs of that
	// module, whose names are in Taken, come from there, beside those of this one.
	From  string
	Taken []string
	// Tags are build tags for them, and Stamps are variables to set in them, beyond
	// what package recipe knows.
	Tags   []string
	Stamps []Stamp
	// Download allows downloading what projects release, from Mirror unless that is empty.
	Download bool
	Mirror   string
	// OS and Arch are what the programs are built for; empty means this machine.
	OS, Arch string
	// Command is how a user runs this build, for messages.
	Command string
	// Cache is the testbed's cache directory.
	Cache string
	// Go is the go command; empty means the first one on PATH.
	Go string
	// Progress gets the progress, and nothing when there is nothing to do.
	Progress io.Writer
	// Columns is the width of the terminal that Progress is, nil for none.
	Columns func() int

	// These stand in for freeBytes, release.Files and http.DefaultTransport in tests.
	free      func(path string) uint64
	files     func(programs []recipe.Program, system, arch string) []release.File
	transport http.RoundTripper
}

// Stamp is a variable that the linker sets in every program of a module.
type Stamp = recipe.Stamp

// extra is what these programs need beyond those of other modules.
func (o Options) extra() recipe.Extra { return recipe.Extra{Tags: o.Tags, Stamps: o.Stamps} }

// Ensure builds what is missing and returns the directory that holds all programs
// under their names: an absolute path that serves as KUBEBUILDER_ASSETS. When
// nothing is missing it only looks. Calls that use one cache at the same time,
// also of several processes, build one after the other.
//
// When ctx is done, Ensure stops the build and returns a *StoppedError. Every other
// error is for the user to read, with what to do about it where that is known.
func Ensure(ctx context.Context, o Options) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if o.free == nil {
		o.free = freeBytes
	}
	if o.files == nil {
		o.files = release.Files
	}
	b := &build{options: o, root: filepath.Join(o.Cache, "kubernetes"), stop: cancel}
	err := b.ensure(ctx)
	if err != nil && ctx.Err() != nil {
		return "", &StoppedError{Cause: context.Cause(ctx), Built: b.ready, Programs: len(b.programs)}
	}
	return string(b.way.store), b.explain(err)
}

// Inputs stands for what a module's tools are built from, apart from the
// toolchain: its go.mod, go.sum and Go files.
func Inputs(module string) (string, error) {
	sources, err := recipe.Sources(module, true)
	return strings.Join(sources, "\n"), err
}

// CheckMirror returns an error if a text can't be the Mirror of Options.
func CheckMirror(mirror string) error { return release.CheckMirror(mirror) }

// build is one call of Ensure.
type build struct {
	options Options
	root    string
	stop    func(error)
	display *progress.Display

	// settings are the go command's.
	settings map[string]string
	goMod    recipe.GoMod
	// programs are those that are asked for, also from another module, and along those
	// that may come along.
	programs, along []recipe.Program
	inputs          []string
	// files are what may be downloaded, of all programs of the module.
	files []release.File
	// way is how the programs are made, and so where they are.
	way way
	// ready is how many of the programs are there.
	ready int
}

func (b *build) ensure(ctx context.Context) error {
	if err := b.plan(ctx); err != nil {
		return err
	}
	if b.complete() {
		return nil
	}
	b.display = progress.Start(b.options.Progress, b.options.Columns, b.stop)
	defer b.display.Stop()
	work, unlock, err := lock.Acquire(ctx, b.root, func(holder string) {
		b.display.Step(progress.State{Doing: fmt.Sprintf("wait for %s, which is building into %s", holder, b.root)})
	})
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		_, reasons := b.missing()
		return fmt.Errorf("the cache %s can't be written, and it is incomplete: %w: ask whoever keeps it to run `%s` with the same Go, or set TESTBED_CACHE to a directory of your own",
			b.root, reasons[0], b.options.Command)
	}
	if err != nil {
		return err
	}
	defer unlock()
	// Another process may have built some of them while we waited.
	if b.complete() {
		return nil
	}
	if err := b.make(ctx, work); err != nil {
		return err
	}
	b.display.Say("%s are ready in %s after %s", versions(b.programs), b.way.store, b.display.Elapsed())
	return nil
}

// make makes the programs that are missing.
func (b *build) make(ctx context.Context, work string) error {
	fetched, err := b.fetchAndCompile(ctx, work, b.reachable(ctx))
	if err != nil {
		return err
	}
	for _, f := range fetched {
		if err := b.take(work, b.downloaded(f), f.Program); err != nil {
			return err
		}
	}
	for _, name := range b.options.Taken {
		if err := b.take(work, store.Store(b.options.From), name); err != nil {
			return err
		}
	}
	missing, _ := b.missing()
	return b.link(ctx, work, missing)
}

// plan finds out what is wanted, and where the store keeps it.
func (b *build) plan(ctx context.Context) error {
	module := b.options.Module
	if _, err := os.Stat(filepath.Join(module, "go.mod")); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no go.mod in %s: run this as `%s`", module, b.options.Command)
	}
	settings, err := b.goCommand(ctx, "", nil, slices.Concat([]string{"env", "-json", "GOCACHE", "GOMODCACHE", "GOPROXY"}, recipe.Settings)...)
	if err != nil {
		return err
	}
	edited, err := b.goCommand(ctx, "", nil, "mod", "edit", "-json")
	if err != nil {
		return err
	}
	if err := errors.Join(json.Unmarshal(settings, &b.settings), json.Unmarshal(edited, &b.goMod)); err != nil {
		return fmt.Errorf("read what the go command printed: %w", err)
	}
	if b.programs, err = b.goMod.Programs(b.options.Programs, b.options.extra()); err != nil {
		return err
	}
	if len(b.options.Along) > 0 {
		if b.along, err = b.goMod.Programs(b.options.Along, b.options.extra()); err != nil {
			return err
		}
	}
	b.inputs, err = b.goMod.Inputs(module, b.settings, b.options.extra())
	if b.options.From != "" {
		b.inputs = append(b.inputs, "other programs from "+filepath.Base(b.options.From))
	}
	for _, name := range b.options.Taken {
		b.programs = append(b.programs, recipe.Program{Name: name})
	}
	if err != nil || !b.options.Download {
		b.way = b.wayOf(nil)
		return err
	}
	all, err := b.goMod.Programs(nil, b.options.extra())
	b.files = b.options.files(all, b.settings["GOOS"], b.settings["GOARCH"])
	return err
}

// missing are the programs that have to be made, and why.
func (b *build) missing() (missing []recipe.Program, reasons []error) {
	for _, p := range b.programs {
		if err := b.way.store.Check(p.Name); err != nil {
			missing, reasons = append(missing, p), append(reasons, err)
		}
	}
	b.ready = len(b.programs) - len(missing)
	return missing, reasons
}

// listed prints a package, or the reason why no later build would notice that its
// files have changed: they belong to no version in go.sum.
const listed = `{{.ImportPath}}{{with .Module}}{{with .Replace}}{{if not .Version}} comes from {{.Path}}{{end}}{{end}}{{end}}`

// compile downloads the modules that are not there yet, and fills the go command's
// build cache with all that programs are linked from.
func (b *build) compile(ctx context.Context, work string, programs []recipe.Program) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var tools []string
	for _, p := range programs {
		tools = append(tools, p.Package)
	}
	// Programs that come along are compiled another time, perhaps without a network.
	reading := slices.Clone(tools)
	for _, p := range b.along {
		if b.compiled(p) {
			reading = append(reading, p.Package)
		}
	}
	downloads := b.counter(progress.State{Step: 1, Steps: 3, Doing: "read the modules", Total: len(b.goMod.Require), Unit: "downloads at most"}, func(line string) bool {
		return strings.HasPrefix(line, "go: downloading ")
	})
	output, err := b.goCommand(ctx, work, downloads, append([]string{"list", "-deps", "-f=" + listed}, reading...)...)
	if err != nil {
		return err
	}
	packages := strings.Split(strings.TrimSpace(string(output)), "\n")
	if unversioned := slices.IndexFunc(packages, func(line string) bool { return strings.Contains(line, " comes from ") }); unversioned >= 0 {
		return fmt.Errorf("package %s, not from a module with a version in go.sum: a later build would not notice that its files have changed", packages[unversioned])
	}
	compiled := b.counter(progress.State{Step: 2, Steps: 3, Doing: "compile", Total: len(packages), Unit: "packages at most"}, func(line string) bool {
		if !slices.Contains(packages, line) {
			return false
		}
		// The go command says nothing when its build cache is full: it goes on,
		// only to compile everything again for each program that it links.
		if b.options.free(b.settings["GOCACHE"]) < reserve {
			cancel(fmt.Errorf("write to %s: %w", b.settings["GOCACHE"], syscall.ENOSPC))
		}
		return true
	})
	// To list what is exported, the go command compiles everything and links nothing.
	_, err = b.goCommand(ctx, work, compiled, append([]string{"list", "-export", "-v"}, tools...)...)
	return err
}

// counter shows a step, and returns what counts the lines of a go command that are
// part of it.
func (b *build) counter(state progress.State, counts func(line string) bool) func(line string) bool {
	b.display.Step(state)
	return func(line string) bool {
		if !counts(line) {
			return false
		}
		state.Done++
		b.display.Update(state)
		return true
	}
}

// link links programs one at a time, because two linkers at once need more memory
// than a small machine has. Each is kept as soon as it is finished.
func (b *build) link(ctx context.Context, work string, programs []recipe.Program) error {
	for _, p := range programs {
		b.display.Step(progress.State{Step: 3, Steps: 3, Doing: "link " + p.Name, Done: b.ready, Total: len(b.programs), Unit: "programs are ready"})
		if _, err := b.goCommand(ctx, work, nil, "build", "-ldflags="+p.LDFlags, "-o="+filepath.Join(work, p.Name), p.Package); err != nil {
			return err
		}
		if err := b.way.store.Add(work, p.Name, "", b.way.inputs); err != nil {
			return err
		}
		b.ready++
	}
	return nil
}

// goCommand runs the go command in the module.
func (b *build) goCommand(ctx context.Context, work string, onLine func(string) bool, args ...string) ([]byte, error) {
	return program.Program{
		Path: cmp.Or(b.options.Go, "go"), Dir: b.options.Module, Env: environment(b.options, work), OnLine: onLine,
	}.Output(ctx, args...)
}

// environment is what the go command is run with. The programs run here unless o
// says otherwise, whatever the user builds for; they need no C compiler; and no flag
// or workspace of the user's changes them. (An empty GOFLAGS would not do: it gives
// way to `go env -w`.) The go command's own temporary files go to the same disk as
// the result, which TESTBED_CACHE moves; /tmp may be small, and is memory on some
// systems.
func environment(o Options, work string) []string {
	return append([]string{
		"GOOS=" + cmp.Or(o.OS, runtime.GOOS), "GOARCH=" + cmp.Or(o.Arch, runtime.GOARCH), "CGO_ENABLED=0",
		"GOFLAGS=" + strings.Join(o.extra().Flags(), " "), "GOWORK=off", "GOTMPDIR=" + work,
	}, collection()...)
}

// collection lets compilers and linkers collect garbage only when they have used much
// memory. Most exit before that, which saves processor time. What the user
// has set is left as it is.
func collection() []string {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	return []string{"GOGC=off", "GOMEMLIMIT=1GiB"}
}

// versions lists programs with their versions.
func versions(programs []recipe.Program) string {
	var list []string
	for _, p := range programs {
		list = append(list, strings.TrimSpace(p.Name+" "+p.Version))
	}
	return strings.Join(list, ", ")
}
