package gocmd

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/kind/build/toy"
)

func TestMain(m *testing.M) {
	toy.Main()
	os.Exit(m.Run())
}

func TestRunGivesTheOutput(t *testing.T) {
	out, err := Go{Dir: t.TempDir()}.With("GOFLAGS", "-trimpath").Run(t.Context(), nil, "env", "GOFLAGS")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(out)); got != "-trimpath" {
		t.Errorf("go env GOFLAGS printed %q, expected the overridden -trimpath", got)
	}
}

func TestWithLeavesTheOriginalAlone(t *testing.T) {
	original := Go{Env: map[string]string{"A": "1"}}
	changed := original.With("A", "2")
	if original.Env["A"] != "1" || changed.Env["A"] != "2" {
		t.Errorf("original has A=%s, copy has A=%s", original.Env["A"], changed.Env["A"])
	}
}

func TestEnvironReplacesSettings(t *testing.T) {
	got := environ([]string{"A=1", "GOFLAGS=-race", "GOFLAGSX=2"}, map[string]string{"GOFLAGS": "", "B": "3"})
	want := []string{"A=1", "GOFLAGSX=2", "B=3", "GOFLAGS="}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, expected %q", got, want)
	}
}

func TestErrorShowsWhatTheGoCommandSaid(t *testing.T) {
	consumed := 0
	_, err := Go{Path: toy.Failing(t, "one\n\nprogress\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten")}.Run(t.Context(), func(line string) bool {
		if line == "progress" {
			consumed++
		}
		return line == "progress"
	}, "build", "-v", "-o=/x", "example.com/p")
	var failed *Error
	if !errors.As(err, &failed) {
		t.Fatalf("got %v, expected an *Error", err)
	}
	want := "go build example.com/p failed (exit status 1)\n    one\n    three\n    four\n    five\n    six\n    seven\n    eight\n    nine\n    ... and 1 more lines"
	if err.Error() != want {
		t.Errorf("the error reads\n%s\nexpected\n%s", err, want)
	}
	if consumed != 1 {
		t.Errorf("onLine saw the progress line %d times", consumed)
	}
	if !strings.Contains(failed.Text(), "ten") {
		t.Errorf("Text() lacks the last line: %q", failed.Text())
	}
}

func TestMissingGoCommand(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Go{}.Run(t.Context(), nil, "version")
	if err == nil || !strings.Contains(err.Error(), "install Go") {
		t.Errorf("got %v, expected a sentence that says to install Go", err)
	}
}

func TestEndOfContextEndsTheCompilersToo(t *testing.T) {
	hanging, pidFile := toy.Hanging(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := Go{Path: hanging}.Run(ctx, nil, "build", "example.com/p")
		done <- err
	}()
	compiler := toy.Await(t, pidFile)
	cause := errors.New("enough")
	cancel(cause)
	if err := <-done; !errors.Is(err, cause) {
		t.Errorf("Run returned %v, expected the cause of the context's end", err)
	}
	toy.AwaitEnd(t, compiler)
}

func TestEndedContextStartsNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("too late")
	cancel(cause)
	if _, err := (Go{}).Run(ctx, nil, "version"); !errors.Is(err, cause) {
		t.Errorf("Run returned %v, expected the cause of the context's end", err)
	}
}
