package demo

import (
	"strings"
	"unicode/utf8"
)

// Style is how text may be drawn where it goes.
type Style struct {
	// Color allows ANSI colors.
	Color bool
	// Width is the longest line in characters; 0 is any length.
	Width int
}

// tone is what a color means, so that no caller names a color.
type tone int

const (
	plain  tone = iota
	quiet       // beside the point: a time, a hint
	strong      // a heading
	good        // as expected
	wait        // in progress
	bad         // wrong
)

var sgr = map[tone]string{quiet: "2", strong: "1", good: "32", wait: "33", bad: "31"}

func (s Style) paint(t tone, text string) string {
	code, ok := sgr[t]
	if !s.Color || !ok || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// fit shortens text to width characters, and shows that it did.
func fit(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	return string([]rune(text)[:width-1]) + "…"
}

// pad fills text with blanks to width characters.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
