package tutorial_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

// What a reader takes in within a minute.
const (
	wordsAMinute    = 150
	commandsAMinute = 1
	goAMinute       = 10 // lines
)

// toleratedMinutes returns how far the minutes that a chapter states may be from those that its text takes: a tenth, or what is rounded
// away.
func toleratedMinutes(minutes float64) float64 { return max(minutes/10, 2.5) }

// A chapter takes as long as its chapter.yaml and its text say, which is a multiple of 5 minutes.
func TestMinutes(t *testing.T) {
	all := chapters(t)
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "chapter\twords\tcommands\tGo\tminutes\tchapter.yaml")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		page := read(t, name+"/README.md")
		words, commands, lines := load(page)
		minutes := float64(words)/wordsAMinute + float64(commands)/commandsAMinute + float64(lines)/goAMinute
		said := all[name].Minutes
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%.0f\t%d\n", name, words, commands, lines, minutes, said)
		if said%5 != 0 || math.Abs(float64(said)-minutes) > toleratedMinutes(minutes) {
			t.Errorf("%s says that it takes %d minutes, expected %.0f: %d words, %d commands and %d lines of Go take %.1f", name, said, 5*math.Round(minutes/5), words, commands, lines, minutes)
		}
		if says := fmt.Sprintf("takes about %d minutes.", said); !strings.Contains(page, says) {
			t.Errorf("%s/README.md does not say at its beginning that it %s", name, says)
		}
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &out)
}

func TestLoad(t *testing.T) {
	const page = "# A title\n\nThree [words more](https://example.com/a/b).\n\n<!-- hidden\n```console\n$ true\n```\n-->\n\n" +
		"```console needs=none\n$ make up\n...\n$ make \\\n> down\n```\n\n```go file=a.go\nfunc f() {}\n\nfunc g() {}\n```\n\n```yaml\na: b\n```\n"
	if words, commands, lines := load(page); words != 6 || commands != 2 || lines != 3 {
		t.Errorf("expected 6 words, 2 commands and 3 lines of Go, got %d, %d and %d", words, commands, lines)
	}
}

var (
	// block is a fenced block, with its language and its lines.
	block = regexp.MustCompile("(?ms)^```([a-z]*)[^\n]*\n(.*?\n)```$")
	// target is where a link leads.
	target = regexp.MustCompile(`\]\([^)]*\)`)
)

// load counts what a page asks of its reader: words of prose, commands to type, and lines of Go to read.
func load(page string) (words, commands, lines int) {
	page = hidden.ReplaceAllString(page, "")
	for _, match := range block.FindAllStringSubmatch(page, -1) {
		switch match[1] {
		case "console":
			commands += strings.Count("\n"+match[2], "\n$ ")
		case "go":
			lines += strings.Count(match[2], "\n")
		}
	}
	prose := target.ReplaceAllString(block.ReplaceAllString(page, ""), "]")
	return len(strings.Fields(prose)), commands, lines
}
