// Package plain makes text harmless that others have written, such as the output of a student's program or a name in a roster,
// before it goes to a terminal, a gradebook or a spreadsheet.
package plain

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Most characters of a message, and of what should be one line. A message says what was expected and what was seen. Whatever is
// longer is a log, which the teacher has.
const (
	MaxText = 2000
	MaxLine = 200
)

// escapes are what terminals obey: control sequences such as colors, commands such as a window's title, which end in a bell or
// a string terminator, and what is left: an escape and a character.
var escapes = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[\\x20-/]*[\\x40-\\x7e]|\x1b[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|\x1b[\\x20-/]*[0-~]?")

// Visible returns s without what terminals and browsers obey. Lines stay.
func Visible(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Map(visible, escapes.ReplaceAllString(s, ""))
}

// Text is [Visible] with at most [MaxText] characters.
func Text(s string) string { return cut(strings.TrimSpace(Visible(s)), MaxText) }

// Line is [Text] in one line, with at most [MaxLine] characters.
func Line(s string) string { return cut(strings.Join(strings.Fields(Text(s)), " "), MaxLine) }

// Cell returns s as it may be a cell of a CSV file: spreadsheets take a text that starts like a formula for one, and an apostrophe
// keeps them from it. A number stays a number.
func Cell(s string) string {
	if _, err := strconv.ParseFloat(s, 64); err == nil || s == "" || !strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return s
	}
	return "'" + s
}

// visible drops control characters, and those that change the direction of the text around them: with these, a name can turn the
// score behind it around.
func visible(r rune) rune {
	switch {
	case r == '\n', r == '\t':
		return r
	case unicode.IsControl(r), r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', r == '\u2028', r == '\u2029', r == '\ufeff':
		return -1
	case r == '\ufffe', r == '\uffff': // XML has no such characters.
		return utf8.RuneError
	}
	return r
}

// cut returns the start of s, and a sign that there was more.
func cut(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:limit-1])) + "…"
}
