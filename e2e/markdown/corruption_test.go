package markdown

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// house writes the example repository with one change, which must fit exactly one place, into a directory, and reads its
// page.
func house(t *testing.T, file, from, to string) (string, *page) {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/healthy.txtar")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, f := range archive.Files {
		content := string(f.Data)
		if f.Name == file {
			if found := strings.Count(content, from); found != 1 {
				t.Fatalf("%q is %d times in %s, expected once", from, found, file)
			}
			content = strings.Replace(content, from, to, 1)
		}
		if f.Name == "page.md" {
			content = strings.ReplaceAll(content, "~~~", "```")
		}
		path := filepath.Join(root, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := git(root, "init", "--quiet"); err != nil {
		t.Fatal(err)
	}
	p, err := readPage(root, "page.md")
	if err != nil {
		t.Fatal(err)
	}
	return root, p
}

// problemsOf is all that is wrong with a page. Commands are run only if nothing is wrong without.
func problemsOf(t *testing.T, root string, p *page) []Problem {
	t.Helper()
	if problems := check(root, p); len(problems) > 0 {
		return problems
	}
	return runPages(t.Context(), optionsFor(t, root), []*page{p}, t.TempDir(), []string{NeedsEmbedded})
}

// optionsFor are those of a repository that pages are run in.
func optionsFor(t *testing.T, root string) Options {
	t.Helper()
	return Options{Root: root, snapshot: snapshotOf(root, filepath.Join(t.TempDir(), "snapshot")), newest: newestOf(root)}
}

func TestHealthyPage(t *testing.T) {
	t.Parallel()
	root, p := house(t, "", "", "")
	for _, problem := range problemsOf(t, root, p) {
		t.Error(problem)
	}
	if want := 19; len(p.blocks) != want {
		t.Errorf("the page has %d blocks, expected %d", len(p.blocks), want)
	}
}

// TestCorruptions changes one token each of a healthy page, or of what it is about, and expects one problem, which names
// the line of the block or command and says what is wrong.
func TestCorruptions(t *testing.T) {
	t.Parallel()
	for name, corruption := range map[string]struct {
		file, from, to string
		line           string // of the page, part of it, where the problem is reported
		says           string
	}{
		"a command's argument":       {"page.md", "$ echo one two three", "$ echo one two tree", "$ echo one two tree", "does not print what is shown"},
		"a command's name":           {"page.md", "$ make run", "$ mak run", "$ mak run", "exits with the code 127"},
		"a target":                   {"page.md", "$ make run", "$ make runs", "$ make runs", "code 2, expected 0"},
		"a variable":                 {"page.md", "apples\\n' $x", "apples\\n' $y", "' $y", "does not print what is shown"},
		"a heredoc's line":           {"page.md", ">   of two lines", ">   of too lines", "$ cat <<END", "does not print what is shown"},
		"a word of output":           {"page.md", "\none two three", "\none two four", "$ echo one two three", "one two four"},
		"a number in output":         {"page.md", "\n4 apples", "\n5 apples", "apples\\n", "5 apples"},
		"a line after ...":           {"page.md", "\nfourth\n~~~", "\nfifth\n~~~", "$ printf 'first", "fifth"},
		"a line too few":             {"page.md", "first\n...\nfourth", "first\nsecond\nthird", "$ printf 'first", "more was printed than is shown"},
		"a word beside wildcards":    {"page.md", "x is 4, in <d", "x was 4, in <d", "$ echo \"x is", "x was 4"},
		"a wildcard of another kind": {"page.md", "in <duration>:", "in <number>:", "$ echo \"x is", "does not print"},
		"a column's title":           {"page.md", "NAME       AGE", "NAME       AGES", "$ printf 'NAME", "AGES"},
		"indentation":                {"page.md", "\n  of two lines\n~~~", "\n    of two lines\n~~~", "$ cat <<END", "of two lines"},
		"an exit code":               {"page.md", "exit=3", "exit=4", "$ echo before", "code 3, expected 4"},
		"a failure":                  {"page.md", "console exit=3", "console", "$ echo before", "code 3, expected 0"},
		"the server's words":         {"page.md", "listening …", "listens …", "$ bash server.sh", "does not print what is shown"},
		"the server itself":          {"server.sh", "listening on", "failing on", "$ bash server.sh", "does not print what is shown"},
		"a server that ends":         {"server.sh", "while true", "exit; while true", "", "interrupted, bye"},
		"a server without a word":    {"page.md", "starting\nlistening …\n", "...\n", "~~~console terminal=2 background", "shows what it prints when it has started"},
		"words after Ctrl-C":         {"page.md", "\ninterrupted, bye", "\ninterrupted, by", "~~~console terminal=2\n", "does not print what is shown"},
		"the terminal":               {"page.md", "console terminal=2\n", "console terminal=3\n", "~~~console terminal=3", "no command runs in the background of terminal 3"},
		"a terminal that is busy":    {"page.md", "^C\ninterrupted, bye\n", "", "~~~console terminal=2\n", "still running in terminal 2"},
		"a type in an excerpt":       {"page.md", "\tSize int32\n\n\tPort int32", "\tSize int64\n\n\tPort int32", "decl=Spec\n", "Size int32"},
		"a comment in an excerpt":    {"page.md", "// Size is how many.\nSize", "// Size is how much.\nSize", "decl=Spec.Size", "Size is how many."},
		"the code of an excerpt":     {"api/size.go", "limit = 5", "limit = 6", "decl=Spec.Size", "const limit = 6"},
		"a declaration's name":       {"page.md", "decl=Spec\n", "decl=Specs\n", "decl=Specs\n", "it declares no Specs"},
		"a file's name":              {"page.md", "file=api/wrong.txt", "file=api/wrongs.txt", "broken", "there is no file api/wrongs.txt"},
		"a value in YAML":            {"page.md", "served: false", "served: true", "key=spec.versions.1", "served: false"},
		"a list in YAML":             {"page.md", "  - ft", "  - fx", "key=spec.names", "- ft"},
		"a key in YAML":              {"page.md", "key=spec.names", "key=spec.name", "key=spec.name", "it has no key spec.name"},
		"a line of a recipe":         {"page.md", "\t@echo running", "\t@echo walking", "from=\"run:\"", "@echo running"},
		"where an excerpt ends":      {"page.md", "to=\"@echo done\"", "to=\"@echo gone\"", "from=\"run:\"", "no line after the one"},
		"a line of a diff":           {"page.md", "+func Double(size int64) int64 {", "+func Double(size int32) int64 {", "diff from", "+func Double(size int64) int64 {"},
		"a file of a diff":           {"older/size.go", "2 * size", "3 * size", "diff from", "3 * size"},
		"a broken file":              {"api/wrong.txt", "many", "3", "broken", "size: 3"},
		"a refusal without words":    {"page.md", "\n0\napi/wrong.txt: size is not a number", "\n...", "broken", "followed by a console block"},
		"a refusal that succeeds":    {"page.md", "(exit 1); }", "}", "$ grep -c", "code 0, expected 1"},
		"a refusal of other words":   {"page.md", "\napi/wrong.txt: size is not", "\napi/wrong.txt: size was not", "$ grep -c", "size was not"},
		"no source":                  {"page.md", "text source=\"https://example.com/a-post\"", "text", "~~~text\n", "nothing checks this text block"},
		"no reason":                  {"page.md", "skip=\"nobody can tell\"", "skip", "~~~text skip", "nothing checks this text block"},
		"an unknown attribute":       {"page.md", "console exit=3", "console code=3", "~~~console code=3", "has no attribute code"},
		"an unknown kind":            {"page.md", "~~~go file=api/size.go decl=Spec\n", "~~~go\n", "~~~go\n", "nothing checks this go block"},
		"no kind":                    {"page.md", "~~~go file=api/size.go decl=Spec\n", "~~~\n", "~~~\n//", "does not say what it is"},
		"a shell's block":            {"page.md", "~~~console exit=3", "~~~bash", "~~~bash", "belong into a console block"},
		"a block without a command":  {"page.md", "$ make run\nbuilt", "make run\nbuilt", "~~~console\nmake", "no command runs in the background"},
		"a block that is not closed": {"page.md", "~~~\n-->", "-->", "~~~console\n$ test", "never closed"},
		"a bracket of a diagram":     {"page.md", "a[one]", "a[one", "mermaid", "does not pair a '['"},
		"a diagram's end":            {"page.md", "\n    end\n", "\n", "mermaid", "has not one end for each"},
		"a diagram's kind":           {"page.md", "flowchart LR", "flowchat LR", "mermaid", "must begin with one of"},
		"a link's file":              {"page.md", "(api)", "(apis)", "See [the", "there is no apis"},
		"a link's anchor":            {"page.md", "(#a-part)", "(#a-party)", "See [the", "no heading #a-party"},
		"a heading elsewhere":        {"other.md", "and why", "and how", "See [the", "other.md has no heading"},
		"a file within a line":       {"page.md", "`api/size.go`", "`api/sizes.go`", "The code", "no such file"},
		"a target within a line":     {"page.md", "`make build`", "`make built`", "The code", "no Makefile has a target built"},
		"a target of a directory":    {"page.md", "`make build`", "`make -C mine built`", "The code", "no Makefile has a target built"},
		"a comment to paste":         {"page.md", "$ x=4;", "$ true # nothing\n$ x=4;", "", "has a comment, which zsh passes on"},
		"a pattern to paste":         {"page.md", "$ x=4;", "$ true a[0]\n$ x=4;", "", "has an unquoted [, for which zsh looks"},
		"a hidden command":           {"page.md", "= 4\n~~~\n-->", "= 5\n~~~\n-->", "$ test", "code 1, expected 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, p := house(t, corruption.file, corruption.from, corruption.to)
			problems := problemsOf(t, root, p)
			if len(problems) != 1 {
				t.Fatalf("there are %d problems, expected one: %v", len(problems), problems)
			}
			if got := problems[0]; !strings.Contains(got.Text, corruption.says) {
				t.Errorf("the problem is %q, expected %q in it", got.Text, corruption.says)
			}
			if corruption.line == "" {
				return
			}
			source := string(p.source)
			before, _, found := strings.Cut(source, strings.ReplaceAll(corruption.line, "~~~", "```"))
			if want := strings.Count(before, "\n") + 1; !found || problems[0].Line != want {
				t.Errorf("the problem is in line %d, expected %d", problems[0].Line, want)
			}
		})
	}
}

func TestPastable(t *testing.T) {
	for command, problem := range map[string]string{
		"make demo":                       "",
		"make demo # a cluster":           "comment",
		"make demo\t# a cluster":          "comment",
		"# a cluster":                     "comment",
		"echo '# a' \"# b\" c#d":          "",
		`echo \# '?' "[a]" [ a = b ]`:     "",
		"ls internal/*.go":                "",
		"kubectl get -o jsonpath={.a[0]}": "unquoted [",
		"ls ?.go":                         "unquoted ?",
		"cat <<E\n# a [comment]?\nE":      "",
		"echo a \\\n  # b":                "comment",
	} {
		err := pastable(command)
		if problem == "" && err != nil || problem != "" && (err == nil || !strings.Contains(err.Error(), problem)) {
			t.Errorf("%q: %v, expected %q", command, err, problem)
		}
	}
}
