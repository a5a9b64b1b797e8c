package markdown

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestUpdate lets what is generated in a page go stale, and expects that update brings back the page as it was.
func TestUpdate(t *testing.T) {
	t.Parallel()
	_, healthy := house(t, "", "", "")
	for name, change := range map[string][2]string{
		"an excerpt": {"\tSize int32\n\n\tPort int32", "\tSize int64"},
		"a key":      {"  - ft\n", ""},
		"a recipe":   {"\t@echo running", "\t@echo walking\n\n\t@echo"},
		"a diff":     {"+func Double(size int64) int64 {\n", ""},
		"a file":     {"broken\nsize: many", "broken"},
	} {
		root, _ := house(t, "page.md", change[0], change[1])
		if err := update(root, "page.md"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		p, err := readPage(root, "page.md")
		if err != nil {
			t.Fatal(err)
		}
		if string(p.source) != string(healthy.source) {
			t.Errorf("%s: updated, the page is\n%s", name, p.source)
		}
	}
}

// TestUpdateKeepsIndentation has the block stand in a list.
func TestUpdateKeepsIndentation(t *testing.T) {
	t.Parallel()
	root, _ := house(t, "page.md", "~~~yaml file=config/crd.yaml key=spec.versions.1\n- name: v2\n  served: false\n~~~",
		"1. See:\n\n   ~~~yaml file=config/crd.yaml key=spec.versions.1\n   old\n   ~~~")
	if err := update(root, "page.md"); err != nil {
		t.Fatal(err)
	}
	p, err := readPage(root, "page.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range check(root, p) {
		t.Errorf("%s\n%s", problem, p.source)
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	root, p := house(t, "", "", "")
	tally, err := Count(root, []string{"page.md", "other.md"})
	if err != nil {
		t.Fatal(err)
	}
	if tally.Blocks != len(p.blocks) || len(tally.Skipped) != 1 || len(tally.Quotes) != 1 {
		t.Errorf("the tally is %+v, expected %d blocks, one of them skipped and one a quotation", tally, len(p.blocks))
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	block := func(needs string) string { return "```console needs=" + needs + "\n$ true\n```\n" }
	tool := parsePage("tool.md", []byte(block("none")+"```console tools=sdk\n$ true\n```\n"))
	small := parsePage("small.md", []byte(block("none")+"```console\n$ true\n```\n"))
	large := parsePage("large.md", []byte(block("none")+block("embedded")+block("kind")+"```console skip=\"never\"\n$ false\n```\n"))
	for _, test := range []struct {
		p       *page
		cluster string
		run     int
		missing []string
	}{
		{tool, "embedded", 1, nil},
		{small, "", 1, []string{"embedded"}},
		{small, "embedded", 2, nil},
		{small, "kind", 0, nil},
		{small, "existing", 1, []string{"embedded"}},
		{large, "", 1, []string{"embedded", "kind"}},
		{large, "embedded", 2, []string{"kind"}},
		{large, "kind", 3, nil},
	} {
		got := planned([]*page{test.p}, test.cluster, map[string]string{"sdk": "type make sdk"})
		if got.run != test.run || !slices.Equal(got.missing, test.missing) {
			t.Errorf("%s with CLUSTER=%s: %d blocks are run and %q is missing, expected %d and %q", test.p.file, test.cluster, got.run, got.missing, test.run, test.missing)
		}
		if test.p == tool && (len(got.skipped) != 1 || got.skipped[0].reason != "type make sdk") {
			t.Errorf("without the tool, skipped are %v", got.skipped)
		}
		if test.p == large && len(got.skipped) != 1 {
			t.Errorf("%s with CLUSTER=%s: skipped are %v", test.p.file, test.cluster, got.skipped)
		}
	}
}

// TestInOrder has a second page go on where the first has left.
func TestInOrder(t *testing.T) {
	t.Parallel()
	root, _ := house(t, "", "", "")
	first := parsePage("first.md", []byte("```console\n$ mkdir made; cd made; x=1\n```\n"))
	second := parsePage("second.md", []byte("```console\n$ basename \"$PWD\"; echo $x\nmade\n1\n```\n"))
	options := optionsFor(t, root)
	for _, problem := range runPages(t.Context(), options, []*page{first, second}, t.TempDir(), []string{NeedsEmbedded}) {
		t.Error(problem)
	}
	problems := runPages(t.Context(), options, []*page{second}, t.TempDir(), []string{NeedsEmbedded})
	if len(problems) != 1 || problems[0].File != "second.md" {
		t.Errorf("alone, the second page has the problems %v, expected one", problems)
	}
}

// TestCopy has what git would add in the copy, what was built of the present sources, and nothing else.
func TestCopy(t *testing.T) {
	t.Parallel()
	root, _ := house(t, "", "", "")
	for file, content := range map[string]string{".gitignore": "/bin/\n", "bin/tool": "x", "bin/other": "x", "bin/old": "x", "bin/suites/a.test": "x", "new.txt": "x"} {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	to := filepath.Join(t.TempDir(), "copy")
	options := optionsFor(t, root)
	if err := os.Chtimes(filepath.Join(root, "bin", "old"), time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	options.Built, options.Linked = []string{"bin/tool", "bin/old", "bin/none"}, []string{"bin/suites/*.test", "bin/none/*"}
	snapshot, err := options.snapshot()
	if err == nil {
		err = copyRepository(options, snapshot, to)
	}
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]bool{"new.txt": true, "api/size.go": true, "bin/tool": true, "bin/other": false, "bin/old": false, "bin/none": false, "bin/suites/a.test": true} {
		if _, err := os.Stat(filepath.Join(to, file)); (err == nil) != want {
			t.Errorf("%s is in the copy: %t, expected %t", file, err == nil, want)
		}
	}
	for _, args := range [][]string{{"status", "--porcelain"}, {"remote"}} {
		if printed, err := git(to, args...); err != nil || printed != "" {
			t.Errorf("git %s prints %q in the copy, and %v, expected nothing", args[0], printed, err)
		}
	}
}
