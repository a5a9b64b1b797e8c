// Package logtail shows log files: their last lines, and what is added to them.
package logtail

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// poll is how often a file is looked at for more. A growing file has no event
// that every system and every file system offers.
const poll = 100 * time.Millisecond

// Last writes the last lines of a file, all of them if lines is negative, and
// returns the offset where it stopped.
func Last(w io.Writer, path string, lines int) (offset int64, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("read the log: %w", err)
	}
	if _, err := w.Write(lastLines(content, lines)); err != nil {
		return 0, fmt.Errorf("show %s: %w", path, err)
	}
	return int64(len(content)), nil
}

// lastLines returns the last n lines of content, with their line ends.
func lastLines(content []byte, n int) []byte {
	if n < 0 {
		return content
	}
	lines := slices.Collect(bytes.Lines(content))
	return bytes.Join(lines[max(0, len(lines)-n):], nil)
}

// Follow writes what is added to a file after offset until ctx ends, and what
// there is at that moment. A file that is not there yet is waited for; one that
// became shorter was replaced, and is shown from its start.
func Follow(ctx context.Context, w io.Writer, path string, offset int64) error {
	for {
		over := ctx.Err() != nil
		next, err := copyFrom(w, path, offset)
		if err != nil || over {
			return err
		}
		offset = next
		select {
		case <-ctx.Done():
		case <-time.After(poll):
		}
	}
}

func copyFrom(w io.Writer, path string, offset int64) (int64, error) {
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return offset, fmt.Errorf("read the log: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() < offset {
		offset = 0
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return offset, fmt.Errorf("read the log: %w", err)
	}
	n, err := io.Copy(w, file)
	if err != nil {
		return offset, fmt.Errorf("show %s: %w", path, err)
	}
	return offset + n, nil
}
