package conformance

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns a text that a terminal does not interpret. Messages quote other authors' operators and manifests, so control characters,
// and characters that change the direction of text, are escaped as in Go, for example as \x1b. Line breaks and tabs stay.
func Escape(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[0]), 16))
		case r == '\n', r == '\t':
			b.WriteRune(r)
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp), r == '\ufffe', r == '\uffff': // of which XML lacks the last two
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
		text = text[size:]
	}
	return b.String()
}
