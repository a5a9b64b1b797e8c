package tutorial_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// section matches the heading of a section, outside of blocks.
	section = regexp.MustCompile(`(?m)^## (.*)$`)
	// comesFirst matches the first block of a page that has commands.
	comesFirst = regexp.MustCompile("(?s)^[^`]*?(?:`[^`\n]+`[^`]*?)*```console[^\n]*\n\\$ (.*?)\n")
)

// sectionsOf returns the headings of a page's sections in their order, and the text of each.
func sectionsOf(page string) (headings []string, text map[string]string) {
	withoutBlocks := block.ReplaceAllStringFunc(page, func(fenced string) string { return strings.ReplaceAll(fenced, "\n## ", "\n   ") })
	found := section.FindAllStringSubmatchIndex(withoutBlocks, -1)
	text = map[string]string{}
	for i, at := range found {
		end := len(page)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		heading := page[at[2]:at[3]]
		headings = append(headings, heading)
		text[heading] = page[at[1]:end]
	}
	return headings, text
}

// wrongAtTheBeginning returns what is not in its place at the beginning of a chapter's page. The first start of a cluster compiles for
// minutes, so it comes before the text that can be read meanwhile. How to write the chapter comes before what would give it away.
func wrongAtTheBeginning(name, page string) []string {
	headings, text := sectionsOf(page)
	var wrong []string
	if len(headings) < 2 || headings[0] != "Begin" || headings[1] != "The idea" {
		wrong = append(wrong, `its first sections are not "Begin" and "The idea"`)
	}
	if first := comesFirst.FindStringSubmatch(text["Begin"]); len(first) < 2 || first[1] != "make up" {
		wrong = append(wrong, `the first command of "Begin" is not make up`)
	}
	start := fmt.Sprintf("make start STAGE=%s DIR=", name)
	for _, heading := range headings {
		if has := strings.Contains(text[heading], start); has && heading != "Begin" {
			wrong = append(wrong, fmt.Sprintf("%q has %s", heading, start))
		} else if !has && heading == "Begin" {
			wrong = append(wrong, fmt.Sprintf(`"Begin" does not have %s`, start))
		}
	}
	return wrong
}

// Every chapter begins in the same way.
func TestChaptersBegin(t *testing.T) {
	for name := range chapters(t) {
		if name == "quickstart" { // it explains no idea
			continue
		}
		for _, sentence := range wrongAtTheBeginning(name, read(t, name+"/README.md")) {
			t.Errorf("%s/README.md: %s", name, sentence)
		}
	}
}

func TestWrongBeginnings(t *testing.T) {
	const (
		begin = "## Begin\n\nType `make`:\n\n```console needs=embedded\n$ make up\n...\n$ ls\n```\n\nTo write it, run `make start STAGE=x DIR=mine`.\n\n"
		idea  = "## The idea\n\n```yaml\n## Begin\n```\n\n"
	)
	for _, test := range []struct {
		page string
		want []string
	}{
		{"# x\n\n" + begin + idea, nil},
		{"# x\n\n" + idea + begin, []string{`its first sections are not "Begin" and "The idea"`}},
		{"# x\n\n" + strings.Replace(begin, "$ make up", "$ make down", 1) + idea, []string{`the first command of "Begin" is not make up`}},
		{"# x\n\n" + begin + idea + "## Exercises\n\n`make start STAGE=x DIR=mine`\n", []string{`"Exercises" has make start STAGE=x DIR=`}},
	} {
		if got := wrongAtTheBeginning("x", test.page); !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, expected %q", test.page, got, test.want)
		}
	}
}
