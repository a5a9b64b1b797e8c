package site

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWriteLeavesExactlyTheContent(t *testing.T) {
	out := t.TempDir()
	if err := Write(out, map[string][]byte{"a.md": []byte("a"), "old/deep/b.md": []byte("b"), "c/d.md": []byte("c")}); err != nil {
		t.Fatal(err)
	}
	unchanged := filepath.Join(out, "content", "a.md")
	then := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(unchanged, then, then); err != nil {
		t.Fatal(err)
	}
	if err := Write(out, map[string][]byte{"a.md": []byte("a"), "c/d.md": []byte("new")}); err != nil {
		t.Fatal(err)
	}
	var names []string
	err := filepath.WalkDir(filepath.Join(out, "content"), func(file string, _ os.DirEntry, err error) error {
		name, _ := filepath.Rel(out, file)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if want := []string{"content", "content/a.md", "content/c", "content/c/d.md"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("there are %q (%v), expected %q: what is stale goes", names, err, want)
	}
	if text, err := os.ReadFile(filepath.Join(out, "content", "c", "d.md")); err != nil || string(text) != "new" {
		t.Errorf("the file that changed holds %q (%v)", text, err)
	}
	if info, err := os.Stat(unchanged); err != nil || !info.ModTime().Equal(then) {
		t.Errorf("the file that did not change was written again at %v (%v)", info.ModTime(), err)
	}
}

func TestWriteKeepsFilesOfOthers(t *testing.T) {
	out := t.TempDir()
	write(t, filepath.Join(out, "content", "mine.md"), "mine")
	err := Write(out, map[string][]byte{"a.md": nil})
	if err == nil || !strings.Contains(err.Error(), "holds files that lab site did not write") {
		t.Errorf("got %v, expected a refusal", err)
	}
	if _, err := os.Stat(filepath.Join(out, "content", "mine.md")); err != nil {
		t.Error(err)
	}
}
