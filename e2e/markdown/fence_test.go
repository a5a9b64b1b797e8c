package markdown

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fencedPage = "# Title\n\n<!-- Prepared:\n```console\n$ hidden\n```\n-->\n\n1. An item:\n\n   ```console needs=none terminal=2 background\n   before\n   ^C\n   after\n   $ one\n   $ two \\\n   > more\n   printed\n   ```\n\n```go file=a.go decl=b\nfunc b() {\n\tc()\n}\n```\n"

func TestFencesAreThoseThatReadersSee(t *testing.T) {
	t.Parallel()
	fences, err := Fences("page.md", []byte(fencedPage))
	if err != nil {
		t.Fatal(err)
	}
	if len(fences) != 2 {
		t.Fatalf("there are %d blocks, expected the two outside of the comment: %+v", len(fences), fences)
	}
	console, excerpt := fences[0], fences[1]
	if console.Indent != "   " || console.Line != 11 || fencedPage[console.Start:console.Start+6] != "   ```" || fencedPage[console.End-7:console.End] != "   ```\n" {
		t.Errorf("the place of the block in the list is %+v", console)
	}
	shown, err := console.Console()
	if err != nil {
		t.Fatal(err)
	}
	want := Console{
		Before: []string{"before"}, Interrupted: true, After: []string{"after"},
		Commands: []Command{{Typed: "one"}, {Typed: "two \\\nmore", Output: []string{"printed"}}},
	}
	if difference := cmp.Diff(want, shown); difference != "" {
		t.Errorf("what the block shows differs (-want +got):\n%s", difference)
	}
	content := "package a\n\nfunc a() {\n}\n\ntype t struct {\n\tfunc b() {\n\t\tc()\n\t}\n}\n"
	if line := excerpt.FirstLine(content); line != 7 {
		t.Errorf("the excerpt begins in line %d of its file, expected 7, whatever its indentation", line)
	}
	if line := excerpt.FirstLine("package a\n"); line != 0 {
		t.Errorf("an excerpt of another file begins in line %d, expected 0", line)
	}
}

func TestFencesRefuseABlockThatDoesNotSayWhatItIs(t *testing.T) {
	t.Parallel()
	if fences, err := Fences("page.md", []byte("# Title\n\n```\ntext\n```\n")); err == nil {
		t.Errorf("got %+v, expected an error that names the block", fences)
	}
}
