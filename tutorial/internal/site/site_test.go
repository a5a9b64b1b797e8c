package site

import (
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what the pages of testdata become")

// golden is a small repository, and what its pages become.
const golden = "testdata/site.txtar"

// repositoryOf makes a repository of the files of an archive, except those that are wanted, which it returns.
func repositoryOf(t *testing.T, archive *txtar.Archive) (root string, want map[string]string) {
	t.Helper()
	root, want = t.TempDir(), map[string]string{}
	for _, file := range archive.Files {
		if name, wanted := strings.CutPrefix(file.Name, "want/"); wanted {
			want[name] = string(file.Data)
			continue
		}
		write(t, filepath.Join(root, file.Name), string(file.Data))
	}
	if output, err := exec.Command("git", "init", "--quiet", root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return root, want
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func archive(t *testing.T) *txtar.Archive {
	t.Helper()
	parsed, err := txtar.ParseFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestEveryKindOfBlockAndLink(t *testing.T) {
	parsed := archive(t)
	root, want := repositoryOf(t, parsed)
	content, err := Generate(root)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, text := range content {
		got[name] = string(text)
	}
	if *update {
		parsed.Files = slices.DeleteFunc(parsed.Files, func(file txtar.File) bool { return strings.HasPrefix(file.Name, "want/") })
		for _, name := range slices.Sorted(maps.Keys(got)) {
			parsed.Files = append(parsed.Files, txtar.File{Name: "want/" + name, Data: content[name]})
		}
		if err := os.WriteFile(golden, txtar.Format(parsed), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if difference := cmp.Diff(strings.Split(want[name], "\n"), strings.Split(got[name], "\n")); difference != "" {
			t.Errorf("%s differs (-want +got):\n%s", name, difference)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("nothing says what these files should be: %q", slices.Sorted(maps.Keys(got)))
	}
}

func TestWhatCannotBeShownIsNamed(t *testing.T) {
	for _, test := range []struct{ name, page, want string }{
		{"a link", "# A\n\n[b](b.md)\n", "docs/a.md: the link b.md leads nowhere"},
		{"a reference", "# A\n\n[README][r]\n\n[r]: ../README.md\n", "docs/a.md: the link to ../README.md is not written as [text](destination)"},
		{"a shortcode", "# A\n\n`{{< b >}}`\n", "docs/a.md: it has {{<, which Hugo takes for a shortcode"},
		{"an excerpt", "# A\n\n```go file=b.go decl=b\nb\n```\n", "b.go: no such file"},
		{"no title", "A\n", "docs/a.md has no heading"},
		{"a translation", "", "docs/b.ko.md does not say which version of its page it was made from: start it with the line <!-- Translated from docs/b.md at "},
	} {
		parsed := archive(t)
		if test.page == "" {
			parsed.Files = append(parsed.Files, txtar.File{Name: "docs/b.md", Data: []byte("# B\n")}, txtar.File{Name: "docs/b.ko.md", Data: []byte("# B\n")})
		} else {
			parsed.Files = append(parsed.Files, txtar.File{Name: "docs/a.md", Data: []byte(test.page)})
		}
		root, _ := repositoryOf(t, parsed)
		if _, err := Generate(root); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, expected an error with %q", test.name, err, test.want)
		}
	}
}

func TestFormerAddressesAreChecked(t *testing.T) {
	for moved, want := range map[string]string{
		"docs/old.md: docs/no-such.md":   "docs/old.md moved to docs/no-such.md, which is not a page",
		"docs/terms.md: README.md":       "docs/terms.md still exists",
		"docs/old: README.md":            "docs/old is not the file of a page",
		"docs/old.md: [docs/terms.md]\n": "read docs/moved.yaml: ",
	} {
		parsed := archive(t)
		parsed.Files = append(parsed.Files, txtar.File{Name: movedFile, Data: []byte(moved)})
		root, _ := repositoryOf(t, parsed)
		if _, err := Generate(root); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, expected an error with %q", moved, err, want)
		}
	}
}

func TestRelative(t *testing.T) {
	for _, test := range []struct{ from, to, want string }{
		{"", "", "./"},
		{"", "docs/a/", "docs/a/"},
		{"docs/a/", "", "../../"},
		{"docs/a/", "docs/b/", "../b/"},
		{"docs/a/", "docs/a/", "./"},
		{"docs/a/", "docs/", "../"},
		{"docs/", "docs/a/", "a/"},
		{"docs/a/", "docs/demo.svg", "../demo.svg"},
		{"ko/docs/a/", "docs/a/", "../../../docs/a/"},
	} {
		if got := relative(test.from, test.to); got != test.want {
			t.Errorf("from %q to %q: got %q, expected %q", test.from, test.to, got, test.want)
		}
	}
}

func TestSummary(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 50))
	for _, test := range []struct{ paragraph, want string }{
		{"One.\nTwo.", "One. Two."},
		{"One. It needs", "One."},
		{"No end", "No end"},
		{"One. " + long + ".", "One."},
		{long, strings.TrimSpace(strings.Repeat("word ", 40)) + " …"},
	} {
		if got := summary(test.paragraph); got != test.want {
			t.Errorf("of %q, got %q, expected %q", test.paragraph, got, test.want)
		}
	}
}
