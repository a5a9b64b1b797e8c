package demo

import (
	"cmp"
	"os"
	"strings"

	"golang.org/x/term"
)

// ScreenOn returns the screen that suits a file: with a live picture on a
// terminal, with lines only elsewhere.
func ScreenOn(file *os.File) *Screen {
	descriptor := int(file.Fd())
	style, live := suit(term.IsTerminal(descriptor), os.Getenv)
	if !live {
		return NewScreen(file, style, nil)
	}
	return NewScreen(file, style, func() (width, height int) {
		width, height, err := term.GetSize(descriptor)
		if err != nil || width <= 0 || height <= 0 {
			return 80, 24 // what a terminal has that does not say
		}
		return width, height
	})
}

// suit decides by the customs of the variables that terminals and people set:
// TERM=dumb can't move the cursor, NO_COLOR (https://no-color.org) asks for no
// colors, and the locale says whether box-drawing characters arrive.
func suit(isTerminal bool, getenv func(string) string) (style Style, live bool) {
	locale := strings.ToUpper(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	style.Unicode = strings.Contains(locale, "UTF-8") || strings.Contains(locale, "UTF8")

	live = isTerminal && getenv("TERM") != "dumb" && getenv("TERM") != ""
	style.Color = live && getenv("NO_COLOR") == ""
	return style, live
}
