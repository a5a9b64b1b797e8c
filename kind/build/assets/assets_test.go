package assets

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/example/operator-testbed/kind/build/internal/store"
	"github.com/example/operator-testbed/kind/build/toy"
)

func TestMain(m *testing.M) {
	toy.Main()
	os.Exit(m.Run())
}

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
	toy.Proxy(t)
	return Options{
		Module:   toy.Module(t, toy.Alpha+"@v1.0.0", toy.Beta+"@v2.0.0"),
		Cache:    t.TempDir(),
		Progress: io.Discard,
		Command:  "make programs",
	}
}

// mustEnsure returns the folder and what was said meanwhile.
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

// runs says what a program in a folder prints.
func runs(t *testing.T, dir, name string) string {
	t.Helper()
	out, err := exec.Command(filepath.Join(dir, name)).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return strings.TrimSpace(string(out))
}

// file is the one behind a link: a program that is built again is another file.
func file(t *testing.T, dir, name string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func kubernetes(o Options) string { return filepath.Join(o.Cache, "kubernetes") }

func TestBuildsOnce(t *testing.T) {
	o := toyOptions(t)
	dir, said := mustEnsure(t, o)
	if !filepath.IsAbs(dir) || runs(t, dir, "alpha") != "alpha v1.0.0" || runs(t, dir, "beta") != "beta v2.0.0" {
		t.Errorf("%s does not hold the programs", dir)
	}
	for _, want := range []string{
		`^look for what has to be built, 0s\n`,
		`(?m)^\[1/3\] read the modules, \d+s$`, // toy.Module has downloaded them
		`(?m)^\[2/3\] compile: 0 of \d+ packages, `,
		`(?m)^\[3/3\] link (alpha|beta): 0 of 2 programs are ready, `,
		`(?m)^\[3/3\] link (alpha|beta): 1 of 2 programs are ready, `,
		`(?m)^(alpha v1.0.0, beta v2.0.0|beta v2.0.0, alpha v1.0.0) are ready in .* after \d+s\n$`,
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
		t.Errorf("the second time the folder is %s, expected %s, and this was said: %q", again, dir, said)
	}
}

func TestModulesAreDownloadedAndCounted(t *testing.T) {
	o := toyOptions(t)
	if out, err := exec.Command("go", "clean", "-modcache").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir, said := mustEnsure(t, o)
	if runs(t, dir, "alpha") != "alpha v1.0.0" || !strings.Contains(said, "[1/3] download modules: 1 of 3 at most") {
		t.Errorf("the download was not shown:\n%s", said)
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
	if runs(t, dir, "alpha") != "alpha v1.0.0" || !strings.Contains(said, "alpha in the cache is damaged (it has 1000 bytes instead of ") {
		t.Errorf("alpha is not mended, or nothing says so:\n%s", said)
	}
	if !os.SameFile(beta, file(t, dir, "beta")) {
		t.Error("beta was built again, too")
	}
}

func TestBumpOfOneModuleLeavesTheOthersAlone(t *testing.T) {
	o := toyOptions(t)
	before, _ := mustEnsure(t, o)
	toy.Get(t, o.Module, toy.Alpha+"@v1.1.0")
	after, _ := mustEnsure(t, o)
	if runs(t, after, "alpha") != "alpha v1.1.0" || runs(t, before, "alpha") != "alpha v1.0.0" {
		t.Error("the two versions of alpha are not both there")
	}
	if !os.SameFile(file(t, before, "beta"), file(t, after, "beta")) {
		t.Error("beta was built again")
	}
}

func TestNewToolLeavesTheOthersAlone(t *testing.T) {
	toy.Proxy(t)
	o := Options{Module: toy.Module(t, toy.Alpha+"@v1.0.0"), Cache: t.TempDir()}
	before, _ := mustEnsure(t, o)
	toy.Get(t, o.Module, toy.Beta+"@v2.0.0")
	after, _ := mustEnsure(t, o)
	if !os.SameFile(file(t, before, "alpha"), file(t, after, "alpha")) {
		t.Error("alpha was built again")
	}
	if runs(t, after, "beta") != "beta v2.0.0" {
		t.Error("the new tool is not there")
	}
}

func TestOnlyWhatIsAskedForIsBuilt(t *testing.T) {
	o := toyOptions(t)
	o.Programs = []string{"alpha"}
	one, said := mustEnsure(t, o)
	if runs(t, one, "alpha") != "alpha v1.0.0" || strings.Contains(said, "beta") {
		t.Errorf("alpha is not there, or beta was built too:\n%s", said)
	}
	o.Programs = nil
	all, _ := mustEnsure(t, o)
	if all == one || !os.SameFile(file(t, one, "alpha"), file(t, all, "alpha")) || runs(t, all, "beta") != "beta v2.0.0" {
		t.Error("beta is missing, or alpha was built again")
	}
	o.Programs = []string{"gamma"}
	if _, err := Ensure(t.Context(), o); err == nil || !strings.Contains(err.Error(), "names a program called gamma") {
		t.Errorf("a program that there is not: %v", err)
	}
}

func TestCommentInGoModBuildsNothing(t *testing.T) {
	o := toyOptions(t)
	before, _ := mustEnsure(t, o)
	goMod, err := os.OpenFile(filepath.Join(o.Module, "go.mod"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := goMod.WriteString("// a comment\n"); err != nil {
		t.Fatal(err)
	}
	if err := goMod.Close(); err != nil {
		t.Fatal(err)
	}
	after, said := mustEnsure(t, o)
	if after == before || !os.SameFile(file(t, before, "alpha"), file(t, after, "alpha")) || strings.Contains(said, "compile") {
		t.Errorf("something was built:\n%s", said)
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
		t.Errorf("with other settings the folder is %s, expected %s; said:\n%s", again, dir, said)
	}
}

// The go command heeds these two; to compile for another machine takes a test too long.
func TestProgramsAreForThisMachineUnlessToldOtherwise(t *testing.T) {
	for o, want := range map[[2]string][2]string{{}: {runtime.GOOS, runtime.GOARCH}, {"darwin", "arm64"}: {"darwin", "arm64"}} {
		got := environment(Options{OS: o[0], Arch: o[1]})
		if got["GOOS"] != want[0] || got["GOARCH"] != want[1] || got["CGO_ENABLED"] != "0" {
			t.Errorf("for %q the go command is run with %v", o, got)
		}
	}
}

func TestCompleteCacheNeedsNoLock(t *testing.T) {
	o := toyOptions(t)
	dir, _ := mustEnsure(t, o)
	w, err := store.At(kubernetes(o)).Lock(t.Context(), func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Unlock()
	if again, said := mustEnsure(t, o); again != dir || said != "" {
		t.Errorf("while another process builds the folder is %s, expected %s, and this was said: %q", again, dir, said)
	}
}

func TestTwoAtOnceBuildOnce(t *testing.T) {
	o := toyOptions(t)
	w, err := store.At(kubernetes(o)).Lock(t.Context(), func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	out := &log{}
	o.Progress = out
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dirs := make(chan string, 2)
	for range 2 {
		go func() {
			dir, err := Ensure(ctx, o)
			if err != nil {
				t.Error(err)
			}
			dirs <- dir
		}()
	}
	w.Unlock()
	if a, b := <-dirs, <-dirs; a == "" || a != b {
		t.Errorf("the folders are %s and %s", a, b)
	}
	if built := strings.Count(out.String(), " are ready in "); built != 1 {
		t.Errorf("%d of the two have built:\n%s", built, out)
	}
}

func TestWaitingNamesTheOther(t *testing.T) {
	o := toyOptions(t)
	w, err := store.At(kubernetes(o)).Lock(t.Context(), func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Unlock()
	ctx, cancel := context.WithCancelCause(t.Context())
	out := &watched{want: "wait for process ", seen: func() { cancel(errors.New("seen")) }}
	o.Progress = out
	_, err = Ensure(ctx, o)
	var stopped *StoppedError
	if !errors.As(err, &stopped) || stopped.Programs != 0 {
		t.Errorf("got %v, expected a *StoppedError from before the number of programs was known", err)
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
	one.Module = toy.Module(t, toy.Alpha+"@v1.0.0")
	mustEnsure(t, one)

	hanging, pidFile := toy.Hanging(t)
	o.Go = hanging
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := Ensure(ctx, o)
		failed <- err
	}()
	compiler := toy.Await(t, pidFile)
	cancel(errors.New("interrupt"))
	err := <-failed
	want := "stopped (interrupt): 1 of 2 programs are ready, and what is compiled is kept; the same command goes on from here"
	var stopped *StoppedError
	if !errors.As(err, &stopped) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	toy.AwaitEnd(t, compiler)
	if _, err := os.Lstat(filepath.Join(kubernetes(o), "work")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("unfinished files are left")
	}

	o.Go = ""
	dir, said := mustEnsure(t, o)
	if runs(t, dir, "beta") != "beta v2.0.0" || !strings.Contains(said, "link beta: 1 of 2") || strings.Contains(said, "link alpha") {
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

func TestFailuresAreSentencesWithAMend(t *testing.T) {
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
			[]string{"go build example.com/shared", " failed (exit status 1)", "main.go:3:1: syntax error"},
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
	want := "the cache " + kubernetes(o) + " can't be written, and it is incomplete: nothing in it was built from this go.mod with this Go: ask whoever keeps it to run `make programs` with the same Go, or set TESTBED_CACHE to a folder of your own"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestCacheThatIsAFile(t *testing.T) {
	o := toyOptions(t)
	o.Cache = filepath.Join(o.Module, "go.mod")
	_, err := Ensure(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "TESTBED_CACHE names another folder") {
		t.Errorf("got %v", err)
	}
}

func TestWrongFolder(t *testing.T) {
	_, err := Ensure(t.Context(), Options{Module: t.TempDir(), Cache: t.TempDir(), Progress: io.Discard, Command: "make programs"})
	if err == nil || !strings.Contains(err.Error(), "run this as `make programs`") {
		t.Errorf("got %v", err)
	}
}
