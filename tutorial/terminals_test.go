package tutorial_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

var (
	hidden   = regexp.MustCompile(`(?s)<!--.*?-->`)
	fence    = regexp.MustCompile("(?ms)^```(console)?([^\n]*)\n(.*?\n)```$")
	terminal = regexp.MustCompile(`terminal=(\d)`)
)

// A rendered page does not show the attributes of a block. So where the next block is for another terminal than the one before,
// the text in between names it, and where it interrupts a program, it says by which key.
func TestTextNamesTerminals(t *testing.T) {
	for _, file := range texts(t) {
		page := read(t, "../"+file)
		for _, wrong := range unnamedTerminals(hidden.ReplaceAllString(page, "")) {
			t.Errorf("%s: %s", file, wrong)
		}
	}
}

func TestUnnamedTerminals(t *testing.T) {
	page := func(between string) string {
		return "```console\n$ make up\n```\n\n" + between + "\n\n```console terminal=2\n^C\n```\n"
	}
	for between, count := range map[string]int{
		"Stop it with Ctrl-C in terminal 2:":  0,
		"Press Ctrl-C in Terminal 2:":         0,
		"Stop it in terminal 2:":              1,
		"Stop it with Ctrl-C in terminal 22:": 1,
		"Stop it:":                            2,
	} {
		if wrong := unnamedTerminals(page(between)); len(wrong) != count {
			t.Errorf("%q: expected %d problems, got %q", between, count, wrong)
		}
	}
}

// unnamedTerminals returns what is missing before the console blocks of a page.
func unnamedTerminals(page string) []string {
	var wrong []string
	last, end := "1", 0
	text := ""
	for _, at := range fence.FindAllStringSubmatchIndex(page, -1) {
		text += page[end:at[0]]
		end = at[1]
		if at[2] < 0 { // not a console block
			continue
		}
		number, body := "1", page[at[6]:at[7]]
		if match := terminal.FindStringSubmatch(page[at[4]:at[5]]); match != nil {
			number = match[1]
		}
		named := regexp.MustCompile(`(?i)\bterminal ` + number + `\b`).MatchString(text)
		if number != last && !named {
			wrong = append(wrong, fmt.Sprintf("say before this block that it is for terminal %s:\n%s", number, body))
		}
		if strings.Contains(body, "^C\n") && !strings.Contains(text, "Ctrl-C") {
			wrong = append(wrong, fmt.Sprintf("say before this block that it takes Ctrl-C:\n%s", body))
		}
		last, text = number, ""
	}
	return wrong
}
