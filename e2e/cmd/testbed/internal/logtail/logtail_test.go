package logtail_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/logtail"
)

func TestLast(t *testing.T) {
	for _, test := range []struct {
		content string
		lines   int
		want    string
	}{
		{"a\nb\nc\n", 2, "b\nc\n"},
		{"a\nb\nc\n", 3, "a\nb\nc\n"},
		{"a\nb\nc\n", 9, "a\nb\nc\n"},
		{"a\nb\nc\n", -1, "a\nb\nc\n"},
		{"a\nb\nc\n", 0, ""},
		{"a\nb\nhalf a li", 1, "half a li"},
		{"a\n\n\n", 2, "\n\n"},
		{"", 5, ""},
		{"", 0, ""},
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		offset, err := logtail.Last(&out, path, test.lines)
		if err != nil {
			t.Fatal(err)
		}
		if out.String() != test.want || offset != int64(len(test.content)) {
			t.Errorf("Last(%q, %d) wrote %q to offset %d, want %q to the end", test.content, test.lines, out.String(), offset, test.want)
		}
	}
}

func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- logtail.Follow(ctx, write, path, 0)
		write.Close()
	}()
	lines := bufio.NewScanner(read)
	next := func() string {
		if !lines.Scan() {
			t.Fatal("no more lines")
		}
		return lines.Text()
	}

	writeFile(t, path, "first\n")
	if got := next(); got != "first" {
		t.Errorf("of a file made later: %q, want first", got)
	}
	writeFile(t, path, "first\nsecond\n")
	if got := next(); got != "second" {
		t.Errorf("added: %q, want second", got)
	}
	writeFile(t, path, "again\n")
	if got := next(); got != "again" {
		t.Errorf("replaced: %q, want again", got)
	}
	stop()
	if lines.Scan() {
		t.Errorf("after the end: %q", lines.Text())
	}
	if err := <-ended; err != nil {
		t.Errorf("Follow: %v", err)
	}
}

// writeFile replaces the content in one step, as a writer's next line does.
func writeFile(t *testing.T, path, content string) {
	t.Helper()
	next := path + ".next"
	if err := os.WriteFile(next, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}
