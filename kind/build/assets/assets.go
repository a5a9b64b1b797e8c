// Package assets makes sure that the programs which a module's tool lines name
// are built and in the cache, and says where.
package assets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/example/operator-testbed/kind/build/internal/gocmd"
	"github.com/example/operator-testbed/kind/build/internal/recipe"
	"github.com/example/operator-testbed/kind/build/internal/store"
	"github.com/example/operator-testbed/kind/build/progress"
)

// Options say what is built, where it is kept and how its progress is shown.
type Options struct {
	// Module is the folder of the module whose tool lines name the programs.
	Module string
	// Programs are the names of those of them that are wanted; none means all.
	Programs []string
	// OS and Arch are what the programs are built for; empty means this machine.
	OS, Arch string
	// Command is how a user runs this build, for messages.
	Command string
	// Cache is the testbed's cache folder.
	Cache string
	// Go is the go command; empty means the first one on PATH.
	Go string
	// Progress gets the progress, and nothing when there is nothing to do.
	Progress io.Writer
	// Columns is the width of the terminal that Progress is, nil for none.
	Columns func() int

	// free stands in for freeBytes in tests.
	free func(path string) uint64
}

// The steps that are shown.
const (
	stepModules = 1 + iota
	stepCompile
	stepLink

	steps = stepLink
)

// Ensure builds what is missing and returns the folder that holds all programs
// under their names: an absolute path that serves as KUBEBUILDER_ASSETS. When
// nothing is missing it only looks. Calls that use one cache at the same time,
// also of several processes, build one after the other.
//
// When ctx ends, Ensure stops the build and returns a *StoppedError. Every other
// error is for the user to read, with the mend where one is known.
func Ensure(ctx context.Context, o Options) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	if o.free == nil {
		o.free = freeBytes
	}
	b := &build{
		options:   o,
		store:     store.At(filepath.Join(o.Cache, "kubernetes")),
		gone:      cancel,
		goCommand: gocmd.Go{Path: o.Go, Dir: o.Module, Env: environment(o)},
	}
	dir, err := b.ensure(ctx)
	if err != nil && ctx.Err() != nil {
		return "", &StoppedError{Cause: context.Cause(ctx), Built: b.ready, Programs: len(b.programs)}
	}
	return dir, explain(err, b.places())
}

// environment is what the go command is run with. The programs run here unless o
// says otherwise, whatever the user builds for; they need no C compiler; and no flag
// or workspace of the user's changes them. (An empty GOFLAGS would not do: it gives
// way to `go env -w`.)
func environment(o Options) map[string]string {
	return map[string]string{
		"GOOS": cmp.Or(o.OS, runtime.GOOS), "GOARCH": cmp.Or(o.Arch, runtime.GOARCH), "CGO_ENABLED": "0",
		"GOFLAGS": strings.Join(recipe.BuildFlags, " "), "GOWORK": "off",
	}
}

// StoppedError says that the build was called off.
type StoppedError struct {
	// Cause is why.
	Cause error
	// Built of Programs are in the cache. Programs is 0 when it was stopped
	// before their number was known.
	Built, Programs int
}

// Error is one sentence that says what is kept.
func (e *StoppedError) Error() string {
	if e.Programs == 0 {
		return fmt.Sprintf("stopped (%v): nothing is lost, the same command goes on from here", e.Cause)
	}
	return fmt.Sprintf("stopped (%v): %d of %d programs are ready, and what is compiled is kept; the same command goes on from here", e.Cause, e.Built, e.Programs)
}

// Unwrap gives access to the cause.
func (e *StoppedError) Unwrap() error { return e.Cause }

// build is one call of Ensure.
type build struct {
	options   Options
	store     store.Store
	goCommand gocmd.Go
	gone      func(error)

	manifest recipe.Manifest
	settings recipe.Settings
	programs []recipe.Program
	// ready is how many of the programs are in the store.
	ready int
}

func (b *build) ensure(ctx context.Context) (string, error) {
	plan, err := b.plan(ctx)
	if err != nil {
		return "", err
	}
	dir, incomplete := b.store.Assets(plan)
	if incomplete == nil {
		return dir, nil
	}

	display := progress.Start(b.options.Progress, b.options.Columns, b.gone)
	defer display.Stop()
	display.Step(progress.State{Doing: "look for what has to be built"})

	writer, err := b.store.Lock(ctx, func(pid int) {
		display.Step(progress.State{Doing: fmt.Sprintf("wait for %s, which is building into %s", process(pid), b.store.Root())})
	})
	if isReadOnly(err) {
		return "", &readOnlyError{root: b.store.Root(), incomplete: incomplete, command: b.options.Command, err: err}
	}
	if err != nil {
		return "", err
	}
	defer writer.Unlock()
	if dir, err := b.store.Assets(plan); err == nil {
		return dir, nil // built while we waited
	}

	packages, err := b.list(ctx, display)
	if err != nil {
		return "", err
	}
	b.programs, err = recipe.Programs(packages, b.settings)
	if err != nil {
		return "", err
	}
	if err := b.buildMissing(ctx, display, writer, packages); err != nil {
		return "", err
	}
	var built []store.Program
	for _, p := range b.programs {
		built = append(built, stored(p))
	}
	dir, err = writer.Publish(plan, built)
	if err != nil {
		return "", err
	}
	display.Say("%s are ready in %s after %s", names(b.programs), dir, display.Elapsed())
	return dir, nil
}

func (b *build) places() places {
	return places{
		store:       b.store.Root(),
		buildCache:  b.settings.BuildCache,
		moduleCache: b.settings.ModuleCache,
		proxy:       b.settings.Proxy,
		free:        b.options.free,
	}
}

// plan is the key of everything that is to be built.
func (b *build) plan(ctx context.Context) (string, error) {
	goMod, err := os.ReadFile(filepath.Join(b.options.Module, "go.mod"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no go.mod in %s: run this as `%s`", b.options.Module, b.options.Command)
	}
	if err != nil {
		return "", err
	}
	goSum, err := os.ReadFile(filepath.Join(b.options.Module, "go.sum"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	output, err := b.goCommand.Run(ctx, nil, append([]string{"env", "-json"}, recipe.SettingNames...)...)
	if err != nil {
		return "", err
	}
	b.settings, err = recipe.ParseSettings(output)
	if err != nil {
		return "", err
	}
	output, err = b.goCommand.Run(ctx, nil, "mod", "edit", "-json")
	if err != nil {
		return "", err
	}
	b.manifest, err = recipe.ParseManifest(output)
	if err != nil {
		return "", err
	}
	var own []byte
	if b.manifest.HasOwnTools() {
		own, err = recipe.Sources(b.options.Module)
		if err != nil {
			return "", err
		}
	}
	return recipe.PlanKey(recipe.Plan{GoMod: goMod, GoSum: goSum, Own: own, Programs: b.options.Programs}, b.settings), nil
}

// list downloads the modules that are not there yet and lists all packages.
func (b *build) list(ctx context.Context, display *progress.Display) (recipe.Packages, error) {
	tools, err := b.manifest.Tools(b.options.Programs)
	if err != nil {
		return nil, err
	}
	step := progress.State{Step: stepModules, Steps: steps, Doing: "read the modules"}
	display.Step(step)
	missing := b.manifest.NotDownloaded(b.settings.ModuleCache)
	downloading := func(line string) bool {
		if !strings.HasPrefix(line, "go: downloading ") {
			return false
		}
		// Some of the missing ones are for other platforms; nobody can say how
		// many before they are read.
		step.Done++
		step.Total = max(missing, step.Done)
		if step.Done == 1 {
			step.Doing, step.Unit = "download modules:", "at most"
			display.Step(step)
		} else {
			display.Update(step)
		}
		return true
	}
	output, err := b.goCommand.Run(ctx, downloading, append([]string{"list", "-deps", "-json=" + recipe.ListFields}, tools...)...)
	if err != nil {
		return nil, err
	}
	return recipe.ParsePackages(output)
}

// buildMissing builds the programs that are not in the store. First everything
// is compiled, on all processors; then the programs are linked one at a time,
// because two linkers at once need more memory than a small machine has, and
// each is kept as soon as it is finished.
func (b *build) buildMissing(ctx context.Context, display *progress.Display, writer *store.Writer, packages recipe.Packages) error {
	var missing []recipe.Program
	for _, p := range b.programs {
		err := b.store.Check(stored(p))
		var damaged *store.DamagedError
		switch {
		case err == nil:
			b.ready++
			continue
		case errors.As(err, &damaged):
			display.Say("%v: building it again", damaged)
		case !errors.Is(err, store.ErrMissing):
			return err
		}
		missing = append(missing, p)
	}
	if len(missing) == 0 {
		return nil // only go.mod's text has changed
	}

	// The go command's own temporary files go to the same disk as the result,
	// which TESTBED_CACHE moves; /tmp may be small, and is memory on some systems.
	temporary := filepath.Join(writer.Work(), "go")
	if err := os.MkdirAll(temporary, 0o755); err != nil {
		return err
	}
	goCommand := b.goCommand.With("GOTMPDIR", temporary)
	if err := b.compile(ctx, goCommand, display, packages, missing); err != nil {
		return err
	}
	for _, p := range missing {
		display.Step(progress.State{
			Step: stepLink, Steps: steps, Doing: "link " + p.Name + ":",
			Done: b.ready, Total: len(b.programs), Unit: "programs are ready",
		})
		executable := filepath.Join(writer.Work(), p.Name)
		if _, err := goCommand.Run(ctx, nil, "build", "-ldflags="+p.LDFlags, "-o="+executable, p.Package); err != nil {
			return err
		}
		if err := writer.Add(stored(p), executable, p.Inputs); err != nil {
			return err
		}
		b.ready++
	}
	return nil
}

// compile fills the go command's build cache with all that programs are linked
// from.
func (b *build) compile(ctx context.Context, goCommand gocmd.Go, display *progress.Display, packages recipe.Packages, programs []recipe.Program) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tracker := newTracker(packages, programs)
	state := func() progress.State {
		s := progress.State{Step: stepCompile, Steps: steps, Doing: "compile:", Unit: "packages"}
		s.Done, s.Total = tracker.count()
		s.Left = tracker.estimate(time.Now())
		return s
	}
	display.Step(state())
	compiling := func(line string) bool {
		if !tracker.compiles(line) {
			return false
		}
		display.Update(state())
		// The go command says nothing when its build cache is full: it goes on,
		// only to compile everything again for each program that it links.
		if b.options.free(b.settings.BuildCache) < reserve {
			cancel(fmt.Errorf("writing to %s: %w", b.settings.BuildCache, syscall.ENOSPC))
		}
		return true
	}
	// For packages that are no programs the go command compiles and links
	// nothing, so it gets what the programs import.
	args := []string{"build", "-v"}
	for _, p := range programs {
		args = append(args, packages[p.Package].Needs()...)
	}
	_, err := goCommand.Run(ctx, compiling, args...)
	return err
}

func stored(p recipe.Program) store.Program { return store.Program{Name: p.Name, Key: p.Key} }

// process names a process by its id, which is 0 when nobody knows it.
func process(pid int) string {
	if pid == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d", pid)
}

// names lists programs with their versions.
func names(programs []recipe.Program) string {
	var list []string
	for _, p := range programs {
		list = append(list, strings.TrimSpace(p.Name+" "+p.Version))
	}
	return strings.Join(list, ", ")
}
