package program

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/example/operator-testbed/kind/build/toy"
)

// sh is a shell that runs a script.
func sh(t *testing.T, script string, onLine func(string) bool) ([]byte, error) {
	t.Helper()
	return Program{Path: "sh", Dir: t.TempDir(), Env: []string{"SETTING=of this program"}, OnLine: onLine}.Output(t.Context(), "-c", script)
}

func TestOutput(t *testing.T) {
	t.Setenv("SETTING", "of the process")
	out, err := sh(t, `echo "$SETTING"; echo ignored >&2`, nil)
	if err != nil || string(out) != "of this program\n" {
		t.Errorf("got %q and %v", out, err)
	}
}

func TestErrorShowsWhatTheProgramPrinted(t *testing.T) {
	consumed := 0
	_, err := sh(t, `printf 'one\n\nprogress\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten' >&2; exit 1`, func(line string) bool {
		if line == "progress" {
			consumed++
		}
		return line == "progress"
	})
	var failed *Error
	if !errors.As(err, &failed) {
		t.Fatalf("got %v, expected an *Error", err)
	}
	_, messages, _ := strings.Cut(err.Error(), "\n")
	want := "    one\n    three\n    four\n    five\n    six\n    seven\n    eight\n    nine\n    ... and 1 more lines"
	if messages != want {
		t.Errorf("the error shows\n%s\nexpected\n%s", messages, want)
	}
	if consumed != 1 {
		t.Errorf("OnLine saw the progress line %d times", consumed)
	}
	if !strings.HasSuffix(failed.Messages, "ten") {
		t.Errorf("the messages lack the last line: %q", failed.Messages)
	}
}

func TestErrorNamesTheCommandWithoutFlags(t *testing.T) {
	args := []string{"build", "-export", "-o=/x", "example.com/p"}
	_, err := Output(t.Context(), toy.Failing(t, "no"), args...)
	if want := "go build example.com/p failed (exit status 1)\n    no"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if args[1] != "-export" {
		t.Errorf("the arguments are changed to %q", args)
	}
}

func TestMissingProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Output(t.Context(), "go", "version"); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("got %v, expected that go is not found", err)
	}
}

func TestEndOfContextEndsTheCompilersToo(t *testing.T) {
	hanging, pipe := toy.Hanging(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := Output(ctx, hanging, "list", "-export", "example.com/p")
		done <- err
	}()
	gone := toy.Await(t, pipe)
	cause := errors.New("enough")
	cancel(cause)
	if err := <-done; !errors.Is(err, cause) {
		t.Errorf("Output returned %v, expected the cause of the context's end", err)
	}
	gone()
}

func TestEndedContextStartsNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("too late")
	cancel(cause)
	if _, err := Output(ctx, "go", "version"); !errors.Is(err, cause) {
		t.Errorf("Output returned %v, expected the cause of the context's end", err)
	}
}
