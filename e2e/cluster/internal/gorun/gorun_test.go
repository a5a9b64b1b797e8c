package gorun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/reaper"
)

// The go command of these tests is the test's own executable under that name,
// with a script for a shell in its environment. The caller is one that is killed.
const (
	script = "GORUN_TEST_SCRIPT"
	caller = "GORUN_TEST_CALLER"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "go" {
		err := syscall.Exec("/bin/sh", append([]string{"sh", "-c", os.Getenv(script), "go"}, os.Args[1:]...), os.Environ())
		panic(err)
	}
	if os.Getenv(caller) != "" {
		_, err := line(context.Background(), os.Stderr, "/clone/kubernetes", quick)
		panic(fmt.Sprintf("this was to be killed, and it got %v", err))
	}
	os.Exit(reaper.Run(m))
}

// quick has no beats, and is patient with a slow machine.
var quick = pace{first: time.Hour, next: time.Hour, patience: tooLong}

// tooLong is when a test gives up.
const tooLong = 10 * time.Minute

func fakeGo(t *testing.T, does string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "go")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv(script, does)
}

func TestLine(t *testing.T) {
	for _, test := range []struct {
		name, does, want, told string
		failure                string
	}{
		{name: "nothing to do", does: `echo /cache/assets`, want: "/cache/assets"},
		{
			name: "a build", does: `echo '[1/3] read, 0s' >&2; echo '[2/3] compile, 5s' >&2; echo /cache/assets`,
			want: "/cache/assets", told: "[1/3] read, 0s\n[2/3] compile, 5s\n",
		},
		{
			name: "how it is called", does: `[ -p /dev/stdin ] && echo "$*"`, want: "-C /clone/kubernetes run -trimpath . -until-eof",
		},
		{
			name: "the command's own sentence", does: `echo '[1/3] read, 0s' >&2; echo 'kubernetes: the disk is full: make room' >&2; echo 'exit status 1' >&2; exit 1`,
			told: "[1/3] read, 0s\n", failure: "the disk is full: make room",
		},
		{
			name: "a sentence with details", does: `printf 'kubernetes: go build failed\n    a.go:1: no\nexit status 1\n' >&2; exit 1`,
			failure: "go build failed\n    a.go:1: no",
		},
		{
			name: "it does not compile", does: `printf '# example.com/kubernetes\n./main.go:3:1: syntax error' >&2; exit 1`,
			told: "# example.com/kubernetes\n./main.go:3:1: syntax error\n", failure: "go run in /clone/kubernetes: exit status 1: ./main.go:3:1: syntax error",
		},
		{name: "not a word", does: `exit 3`, failure: "go run in /clone/kubernetes: exit status 3"},
		{name: "not even a line", does: `:`, failure: "go run in /clone/kubernetes printed nothing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fakeGo(t, test.does)
			var told bytes.Buffer
			got, err := line(t.Context(), &told, "/clone/kubernetes", quick)
			if failure := fmt.Sprint(err); err != nil && failure != test.failure || err == nil && test.failure != "" {
				t.Errorf("it failed with %q, expected %q", failure, test.failure)
			}
			if got != test.want {
				t.Errorf("got %q, expected %q", got, test.want)
			}
			if told.String() != test.told {
				t.Errorf("progress was %q, expected %q", &told, test.told)
			}
		})
	}
}

func TestNoGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Line(t.Context(), io.Discard, "/clone/kubernetes"); !errors.Is(err, errNoGo) {
		t.Errorf("got %v, expected %v", err, errNoGo)
	}
}

// writer calls a function with each write.
type writer func(string)

func (w writer) Write(data []byte) (int, error) {
	w(string(data))
	return len(data), nil
}

// A go command that compiles says nothing for long; one that downloads another Go says little.
func TestSilenceIsBroken(t *testing.T) {
	// Two pipes: a second reader of one pipe sees the end of the first writer, if that is slow to close it.
	speak, end := fifo(t), fifo(t)
	fakeGo(t, `echo 'go: downloading go1.26.1' >&2; read -r _ <`+speak+`; echo '[1/3] read, 0s' >&2; read -r _ <`+end+`; echo /cache/assets`)
	var told []string
	beats, spoken := 0, false
	goOn := func(pipe string) {
		if err := os.WriteFile(pipe, []byte("\n"), 0); err != nil {
			t.Error(err)
		}
	}
	progress := writer(func(text string) {
		told = append(told, text)
		switch {
		case strings.HasPrefix(text, "starting the program in /clone/kubernetes, which Go compiles the first time: "):
			if spoken {
				t.Errorf("a beat after the command has begun to tell for itself")
			}
			if beats++; beats == 3 {
				goOn(speak)
			}
		case strings.HasPrefix(text, "[1/3]"):
			spoken = true
			// More beats were due now.
			time.AfterFunc(20*time.Millisecond, func() { goOn(end) })
		}
	})
	got, err := line(t.Context(), progress, "/clone/kubernetes", pace{first: time.Millisecond, next: time.Millisecond, patience: tooLong})
	if err != nil || got != "/cache/assets" {
		t.Errorf("got %q, %v", got, err)
	}
	if beats < 3 || !spoken {
		t.Errorf("%d beats, expected at least 3, and then the command's own line: %q", beats, told)
	}
}

// started is a child of the fake go command that does not exit on its own.
const started = `sh -c 'echo started >&2; exec sleep 1000'`

// The fake go command waits for its child, so the signal has to reach both.
func TestCancel(t *testing.T) {
	held := fifo(t)
	fakeGo(t, `trap : INT; exec 3>`+held+`; `+started+`; echo 'the child has ended' >&2`)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	reader := open(t, held)
	var told strings.Builder
	_, err := line(ctx, writer(func(text string) {
		told.WriteString(text)
		cancel(enough)
	}), "/clone/kubernetes", pace{first: time.Hour, next: time.Hour, patience: tooLong})
	if !errors.Is(err, enough) {
		t.Errorf("got %v, expected the cause", err)
	}
	if !strings.Contains(told.String(), "the child has ended") {
		t.Errorf("it was killed, expected it to end in its own order; it said %q", &told)
	}
	awaitEnd(t, <-reader)
}

func TestCancelWhatDoesNotListen(t *testing.T) {
	held := fifo(t)
	fakeGo(t, `trap '' INT; exec 3>`+held+`; `+started+`; :`)
	ctx, cancel := context.WithCancelCause(t.Context())
	reader := open(t, held)
	_, err := line(ctx, writer(func(string) { cancel(nil) }), "/clone/kubernetes", pace{first: time.Hour, next: time.Hour, patience: time.Millisecond})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, expected the cause", err)
	}
	awaitEnd(t, <-reader)
}

func TestEndsWithItsCaller(t *testing.T) {
	held := fifo(t)
	fakeGo(t, `exec 3>`+held+`; echo started >&2; cat`)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), caller+"=yes")
	started := make(chan struct{})
	cmd.Stderr = writer(func(text string) {
		if strings.HasPrefix(text, "started") {
			close(started)
		}
	})
	reader := open(t, held)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-started
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	awaitEnd(t, <-reader)
}

// fifo makes a named pipe. Its reader sees the end when all who held it open for writing have ended.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// open opens a named pipe for reading, which waits for a writer.
func open(t *testing.T, path string) <-chan *os.File {
	opened := make(chan *os.File, 1)
	go func() {
		file, err := os.Open(path)
		if err != nil {
			t.Error(err)
		}
		opened <- file
	}()
	return opened
}

func awaitEnd(t *testing.T, reader *os.File) {
	t.Helper()
	defer reader.Close()
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, reader)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(tooLong):
		t.Errorf("what was started is still there after %s", tooLong)
	}
}
