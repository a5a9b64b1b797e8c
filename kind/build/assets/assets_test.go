package assets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/example/operator-testbed/kind/build/lock"
	"github.com/example/operator-testbed/kind/build/progress"
	"github.com/example/operator-testbed/kind/build/toy"
)

// log is a writer for several goroutines.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// toyOptions are a module with both toy programs and an empty cache.
func toyOptions(t *testing.T) Options {
	t.Helper()
	return Options{
		Module:   toy.Module(t),
		Cache:    t.TempDir(),
		Progress: io.Discard,
		Command:  "make programs",
	}
}

// mustEnsure returns the directory and what was said meanwhile.
func mustEnsure(t *testing.T, o Options) (dir, said string) {
	t.Helper()
	out := &log{}
	o.Progress = out
	dir, err := Ensure(t.Context(), o)
	if err != nil {
		t.Fatalf("%v\nafter\n%s", err, out)
	}
	return dir, out.String()
}

// runs returns what a program in a directory prints.
func runs(t *testing.T, dir, name string) string {
	t.Helper()
	out, err := exec.Command(filepath.Join(dir, name)).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return strings.TrimSpace(string(out))
}

// file identifies the file of a program: one that is built again is another.
func file(t *testing.T, dir, name string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func kubernetes(o Options) string { return filepath.Join(o.Cache, "kubernetes") }

// locked keeps others from building.
func locked(t *testing.T, o Options) (release func()) {
	t.Helper()
	_, release, err := lock.Acquire(t.Context(), kubernetes(o), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return release
}

func TestBuildsOnce(t *testing.T) {
	o := toyOptions(t)
	dir, said := mustEnsure(t, o)
	if !filepath.IsAbs(dir) || runs(t, dir, "alpha") != "alpha" || runs(t, dir, "beta") != "beta" {
		t.Errorf("%s does not hold the programs", dir)
	}
	for _, want := range []string{
		`^\[1/3\] read the modules, 0s\n`,
		`(?m)^\[2/3\] compile, `,
		`(?m)^\[3/3\] link alpha, `,
		`(?m)^\[3/3\] link beta: 1 of 2 programs are ready, `,
		`(?m)^alpha, beta are ready in .* after \d+s\n$`,
	} {
		if !regexp.MustCompile(want).MatchString(said) {
			t.Errorf("nothing like %s was said:\n%s", want, said)
		}
	}
	if left, err := os.ReadDir(filepath.Join(kubernetes(o), "work")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("unfinished files are left: %v, %v", left, err)
	}

	again, said := mustEnsure(t, o)
	if again != dir || said != "" {
		t.Errorf("the second time the directory is %s, expected %s, and this was said: %q", again, dir, said)
	}
}

func TestDamagedProgramIsBuiltAgain(t *testing.T) {
	o := toyOptions(t)
	dir, _ := mustEnsure(t, o)
	alpha, beta := filepath.Join(dir, "alpha"), file(t, dir, "beta")
	if err := os.Truncate(alpha, 1000); err != nil {
		t.Fatal(err)
	}
	dir, said := mustEnsure(t, o)
	if runs(t, dir, "alpha") != "alpha" || !strings.Contains(said, "alpha in the cache is damaged (it has 1000 bytes instead of ") {
		t.Errorf("alpha is not repaired, or nothing says so:\n%s", said)
	}
	if !os.SameFile(beta, file(t, dir, "beta")) {
		t.Error("beta was built again, too")
	}
}

func TestOnlyWhatIsAskedForIsBuilt(t *testing.T) {
	o := toyOptions(t)
	o.Programs = []string{"alpha"}
	one, said := mustEnsure(t, o)
	if runs(t, one, "alpha") != "alpha" || strings.Contains(said, "beta") {
		t.Errorf("alpha is not there, or beta was built too:\n%s", said)
	}
	o.Programs = nil
	all, _ := mustEnsure(t, o)
	if all != one || !os.SameFile(file(t, one, "alpha"), file(t, all, "alpha")) || runs(t, all, "beta") != "beta" {
		t.Error("beta is missing, or alpha was built again")
	}
	o.Programs = []string{"gamma"}
	if _, err := Ensure(t.Context(), o); err == nil || !strings.Contains(err.Error(), "names a program called gamma") {
		t.Errorf("a program that there is not: %v", err)
	}
}

func TestTagsAndStampsReachThePrograms(t *testing.T) {
	o := toyOptions(t)
	o.Programs = []string{"alpha"}
	toy.Write(t, o.Module, "cmd/alpha/main.go", "package main\n\nimport \"os\"\n\nvar version, tagged = \"unknown\", \"untagged\"\n\nfunc main() { os.Stdout.WriteString(version + \" \" + tagged) }\n")
	toy.Write(t, o.Module, "cmd/alpha/tagged.go", "//go:build some\n\npackage main\n\nfunc init() { tagged = \"tagged\" }\n")
	plain, _ := mustEnsure(t, o)
	o.Tags, o.Stamps = []string{"some"}, []Stamp{{Variable: "main.version", Value: "v1"}}
	extra, _ := mustEnsure(t, o)
	if got := runs(t, plain, "alpha") + ", " + runs(t, extra, "alpha"); got != "unknown untagged, v1 tagged" {
		t.Errorf("the programs print %q", got)
	}
}

func TestChangedModuleIsBuiltBesideTheOldOne(t *testing.T) {
	o := toyOptions(t)
	before, _ := mustEnsure(t, o)
	toy.Write(t, o.Module, "cmd/alpha/main.go", "package main\n\nfunc main() { println(\"changed\") }\n")
	after, _ := mustEnsure(t, o)
	if runs(t, after, "alpha") != "changed" || runs(t, before, "alpha") != "alpha" {
		t.Error("the two versions of alpha are not both there")
	}
}

func TestFilesWithoutAVersionAreRefused(t *testing.T) {
	o := toyOptions(t)
	toy.Write(t, o.Module, "library/go.mod", "module example.com/library\n")
	toy.Write(t, o.Module, "library/library.go", "package library\n")
	toy.Write(t, o.Module, "cmd/alpha/main.go", "package main\n\nimport _ \"example.com/library\"\n\nfunc main() {}\n")
	toy.Write(t, o.Module, "go.mod", "module example.com/toy\n\ngo 1.26.0\n\ntool example.com/toy/cmd/alpha\n\nrequire example.com/library v1.0.0\n\nreplace example.com/library => ./library\n")
	_, err := Ensure(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "package example.com/library comes from ./library, not from a module with a version in go.sum") {
		t.Errorf("got %v", err)
	}
}

func TestCountedLinesAreProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &log{}
		b := &build{display: progress.Start(out, nil, nil)}
		count := b.counter(progress.State{Doing: "download", Total: 3, Unit: "modules"}, func(line string) bool { return line != "error" })
		if !count("one") || count("error") || !count("two") {
			t.Error("a line that does not count is consumed, or one that does is not")
		}
		time.Sleep(time.Minute) //nolint:forbidigo // the clock is synctest's
		b.display.Stop()
		if want := "download, 0s\ndownload: 2 of 3 modules, 5s\n"; !strings.HasPrefix(out.String(), want) {
			t.Errorf("got\n%s\nexpected\n%s", out, want)
		}
	})
}

func TestDownloadsAreNoErrors(t *testing.T) {
	o := toyOptions(t)
	o.Go = toy.Go(t, "-deps", "printf 'go: downloading example.com/one v1.0.0\ngo: broken\n' >&2; exit 1")
	_, err := Ensure(t.Context(), o)
	if want := "go list example.com/toy/cmd/alpha example.com/toy/cmd/beta failed (exit status 1)\n    go: broken"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestUsersSettingsChangeNothing(t *testing.T) {
	o := toyOptions(t)
	dir, _ := mustEnsure(t, o)
	for name, value := range map[string]string{
		"GOFLAGS": "-race -tags=other", "GOOS": "plan9", "GOARCH": "mips", "CGO_ENABLED": "1", "GOWORK": filepath.Join(o.Module, "go.work"),
	} {
		t.Setenv(name, value)
	}
	if again, said := mustEnsure(t, o); again != dir {
		t.Errorf("with other settings the directory is %s, expected %s; said:\n%s", again, dir, said)
	}
}

// The go command heeds these two; to compile for another machine takes a test too long.
func TestProgramsAreForThisMachineUnlessToldOtherwise(t *testing.T) {
	for o, want := range map[[2]string][]string{
		{}:                  {"GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH, "CGO_ENABLED=0"},
		{"darwin", "arm64"}: {"GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=0"},
	} {
		if got := environment(Options{OS: o[0], Arch: o[1]}, ""); !slices.Equal(got[:3], want) {
			t.Errorf("for %q the go command is run with %v", o, got)
		}
	}
}

func TestCompilersCollectGarbageLate(t *testing.T) {
	for name, c := range map[string]struct{ percent, limit, want string }{
		"nothing set":  {"", "", "GOGC=off GOMEMLIMIT=1GiB"},
		"a percentage": {"200", "", ""},
		"a limit":      {"", "512MiB", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOGC", c.percent)
			t.Setenv("GOMEMLIMIT", c.limit)
			got := slices.DeleteFunc(environment(Options{}, ""), func(setting string) bool {
				return !strings.HasPrefix(setting, "GOGC=") && !strings.HasPrefix(setting, "GOMEMLIMIT=")
			})
			if strings.Join(got, " ") != c.want {
				t.Errorf("the go command is run with %q, expected %q", got, c.want)
			}
		})
	}
}

func TestCompleteCacheNeedsNoLock(t *testing.T) {
	o := toyOptions(t)
	dir, _ := mustEnsure(t, o)
	release := locked(t, o)
	defer release()
	if again, said := mustEnsure(t, o); again != dir || said != "" {
		t.Errorf("while another process builds the directory is %s, expected %s, and this was said: %q", again, dir, said)
	}
}

func TestTwoAtOnceBuildOnce(t *testing.T) {
	o := toyOptions(t)
	release := locked(t, o)
	out := &log{}
	o.Progress = out
	dirs := make(chan string, 2)
	for range 2 {
		go func() {
			dir, err := Ensure(t.Context(), o)
			if err != nil {
				t.Error(err)
			}
			dirs <- dir
		}()
	}
	release()
	if a, b := <-dirs, <-dirs; a == "" || a != b {
		t.Errorf("the directories are %s and %s", a, b)
	}
	if built := strings.Count(out.String(), " are ready in "); built != 1 {
		t.Errorf("%d of the two have built:\n%s", built, out)
	}
}

func TestWaitingNamesTheOther(t *testing.T) {
	o := toyOptions(t)
	release := locked(t, o)
	defer release()
	ctx, cancel := context.WithCancelCause(t.Context())
	out := &watched{want: fmt.Sprintf("wait for process %d, which is building into %s", os.Getpid(), kubernetes(o)), seen: func() { cancel(errors.New("seen")) }}
	o.Progress = out
	_, err := Ensure(ctx, o)
	if _, stopped := errors.AsType[*StoppedError](err); !stopped {
		t.Errorf("got %v, expected a *StoppedError", err)
	}
}

// watched calls seen when a text is written.
type watched struct {
	want string
	seen func()
}

func (w *watched) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.want) {
		w.seen()
	}
	return len(p), nil
}

func TestStoppedBuildLeavesNothingBehindAndKeepsWhatIsReady(t *testing.T) {
	o := toyOptions(t)
	// One program is ready before the build that is stopped.
	one := o
	one.Programs = []string{"alpha"}
	mustEnsure(t, one)

	hanging, pipe := toy.Hanging(t)
	o.Go = hanging
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := Ensure(ctx, o)
		failed <- err
	}()
	gone := toy.Await(t, pipe)
	cancel(errors.New("interrupt"))
	err := <-failed
	want := "stopped (interrupt): 1 of 2 programs are ready, and what is compiled is kept; the same command goes on from here"
	var stopped *StoppedError
	if !errors.As(err, &stopped) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	gone()
	if _, err := os.Lstat(filepath.Join(kubernetes(o), "work")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("unfinished files are left")
	}

	o.Go = ""
	dir, said := mustEnsure(t, o)
	if runs(t, dir, "beta") != "beta" || !strings.Contains(said, "link beta: 1 of 2") || strings.Contains(said, "link alpha") {
		t.Errorf("the build did not go on from where it was:\n%s", said)
	}
}

func TestGoneReaderStopsTheBuild(t *testing.T) {
	o := toyOptions(t)
	r, w := io.Pipe()
	r.Close()
	o.Progress = w
	_, err := Ensure(t.Context(), o)
	var stopped *StoppedError
	if !errors.As(err, &stopped) || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, expected a *StoppedError over the closed pipe", err)
	}
}

func TestFailuresSayWhatToDo(t *testing.T) {
	o := toyOptions(t)
	for name, c := range map[string]struct {
		says string
		want []string
	}{
		"full disk": {
			"mkdir /x/b001: no space left on device",
			[]string{"the disk of ", " is full (", kubernetes(o), "TESTBED_CACHE moves it", "GOCACHE moves it", "0.5 GB", "4 GB"},
		},
		"no memory": {
			"k8s.io/api: /usr/local/go/pkg/tool/linux_amd64/compile: signal: killed",
			[]string{"memory ran out", "GOMAXPROCS=1", "compile: signal: killed"},
		},
		"anything else": {
			"# example.com/alpha\nmain.go:3:1: syntax error",
			[]string{"go list example.com/toy/cmd/alpha example.com/toy/cmd/beta failed (exit status 1)", "main.go:3:1: syntax error"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o.Go = toy.Failing(t, c.says)
			_, err := Ensure(t.Context(), o)
			if err == nil {
				t.Fatal("it did not fail")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q:\n%v", want, err)
				}
			}
			if _, err := os.Lstat(filepath.Join(kubernetes(o), "work")); !errors.Is(err, fs.ErrNotExist) {
				t.Error("unfinished files are left")
			}
		})
	}
}

func TestFullBuildCacheStopsTheBuildAtOnce(t *testing.T) {
	o := toyOptions(t)
	o.free = func(path string) uint64 {
		if path == os.Getenv("GOCACHE") {
			return 7e6
		}
		return 1e12
	}
	t.Setenv("GOCACHE", t.TempDir()) // where everything must be compiled
	_, err := Ensure(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "the disk of "+os.Getenv("GOCACHE")+" is full (7 MB free)") {
		t.Errorf("got %v", err)
	}
}

func TestUnreachableProxy(t *testing.T) {
	o := toyOptions(t)
	toy.Write(t, o.Module, "go.mod", "module example.com/toy\n\ngo 1.26.0\n\ntool example.com/missing/cmd/one\n\nrequire example.com/missing v1.0.0\n")
	toy.Write(t, o.Module, "go.sum", "example.com/missing v1.0.0 h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nexample.com/missing v1.0.0/go.mod h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n")
	for _, proxy := range []string{"http://127.0.0.1:1", "off"} {
		t.Setenv("GOPROXY", proxy)
		t.Setenv("GOMODCACHE", t.TempDir())
		_, err := Ensure(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), "set GOPROXY to a module proxy that it reaches") || !strings.Contains(err.Error(), proxy) {
			t.Errorf("with GOPROXY=%s: %v", proxy, err)
		}
	}
}

// There are places where not even root may write.
func TestReadOnlyCacheThatLacksSomething(t *testing.T) {
	o := toyOptions(t)
	o.Cache = map[string]string{"linux": "/sys", "darwin": "/System"}[runtime.GOOS]
	_, err := Ensure(t.Context(), o)
	want := "the cache " + kubernetes(o) + " can't be written, and it is incomplete: alpha was not built from this go.mod with this Go: ask whoever keeps it to run `make programs` with the same Go, or set TESTBED_CACHE to a directory of your own"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestCacheThatIsAFile(t *testing.T) {
	o := toyOptions(t)
	o.Cache = filepath.Join(o.Module, "go.mod")
	_, err := Ensure(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "TESTBED_CACHE names another directory") {
		t.Errorf("got %v", err)
	}
}

func TestWrongDirectory(t *testing.T) {
	_, err := Ensure(t.Context(), Options{Module: t.TempDir(), Cache: t.TempDir(), Progress: io.Discard, Command: "make programs"})
	if err == nil || !strings.Contains(err.Error(), "run this as `make programs`") {
		t.Errorf("got %v", err)
	}
}
