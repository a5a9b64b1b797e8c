package site

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// translationOf is a translation of a page with the given text.
func translationOf(file, text string) string {
	return "<!-- Translated from " + file + " at " + blobHash([]byte(text)) + ". -->\n\n# Title\n"
}

// stand returns how the translations of some files stand.
func stand(files map[string]string) ([]Translation, error) {
	memory := fstest.MapFS{}
	var names []string
	for name, text := range files {
		memory[name] = &fstest.MapFile{Data: []byte(text)}
		names = append(names, name)
	}
	return translations(names, func(file string) ([]byte, error) { return fs.ReadFile(memory, file) })
}

func TestTranslationsAreMissingDriftedOrCurrent(t *testing.T) {
	all, err := stand(map[string]string{
		"README.md": "# One\n", "README.ko.md": translationOf("README.md", "# One\n"),
		"docs/a.md": "# Two, changed\n", "docs/a.ko.md": translationOf("docs/a.md", "# Two\n"),
		"docs/b.md": "# Three\n", "docs/b.fr.md": translationOf("docs/b.md", "# Three\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	PrintTranslations(all, &printed)
	//nolint:dupword // the first list ends with the state that the next line begins with
	want := `fr: 1 of 3 pages are translated, and 0 of these have drifted
  missing  README.fr.md
  missing  docs/a.fr.md
ko: 2 of 3 pages are translated, and 1 of these have drifted
  drifted  docs/a.ko.md: docs/a.md has changed since
  missing  docs/b.ko.md
`
	if difference := cmp.Diff(want, printed.String()); difference != "" {
		t.Errorf("the list differs (-want +got):\n%s", difference)
	}
}

func TestTranslationsWithoutAPageOrAHashAreRefused(t *testing.T) {
	for _, test := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"docs/a.ko.md": "# A\n"}, "docs/a.ko.md translates docs/a.md, which does not exist"},
		{map[string]string{"a.md": "# A\n", "a.ko.md": "# A\n"}, "<!-- Translated from a.md at " + blobHash([]byte("# A\n")) + ". -->"},
		{map[string]string{"a.md": "# A\n", "a.ko.md": translationOf("b.md", "# A\n")}, "a.ko.md does not say which version"},
	} {
		if _, err := stand(test.files); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, expected an error with %q", test.files, err, test.want)
		}
	}
}

// TestTranslationsOfThisRepository reports what there is to translate. It fails for translations that can't be compared with their page.
func TestTranslationsOfThisRepository(t *testing.T) {
	all, err := Translations(repository)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 60*len(Languages) {
		t.Errorf("it knows of %d translations to make, expected one of each page", len(all))
	}
	var printed strings.Builder
	PrintTranslations(all, &printed)
	t.Log(printed.String())
}

func TestHashIsGits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	write(t, file, "# A page\n")
	output, err := exec.Command("git", "hash-object", "--no-filters", file).Output()
	if want := strings.TrimSpace(string(output)); err != nil || blobHash([]byte("# A page\n")) != want {
		t.Errorf("the hash is %s, but git prints %s (%v)", blobHash([]byte("# A page\n")), want, err)
	}
}
