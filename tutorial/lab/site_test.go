package lab

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSiteIsTheSameEachTime writes the site of this repository twice: the second time, nothing is written, and what is stale goes.
func TestSiteIsTheSameEachTime(t *testing.T) {
	out := t.TempDir()
	run := func() map[string]string {
		if err := writeSite("../..", out); err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		root := os.DirFS(out)
		err := fs.WalkDir(root, "content", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(root, name)
			files[name] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	first := run()
	if len(first) < 70 || !strings.Contains(first["content/tutorial/03-controller/index.md"], "```command") {
		t.Fatalf("there are %d files, expected a page for each Markdown file", len(first))
	}
	if err := os.WriteFile(filepath.Join(out, "content", "stale.md"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	second := run()
	for name, text := range first {
		if second[name] != text {
			t.Errorf("%s is not the same the second time", name)
		}
	}
	if len(second) != len(first) {
		t.Errorf("there are %d files the second time, and %d the first", len(second), len(first))
	}
}

func TestSiteNamesWhatIsMissing(t *testing.T) {
	if err := writeSite("../..", ""); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("without a directory, got %v", err)
	}
	var out strings.Builder
	if err := printTranslations("../..", &out); err != nil || !strings.Contains(out.String(), "ko: ") || !strings.Contains(out.String(), "README.ko.md") {
		t.Errorf("got %v and %s, expected the pages to translate to Korean", err, out.String())
	}
	for _, command := range Command(new(string)).Commands() {
		if command.Name() == "site" && !command.Hidden {
			t.Error("learners see the command site")
		}
	}
}
