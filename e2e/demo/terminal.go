package demo

import (
	"os"

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
			return 80, 24 // the usual size, if the terminal does not report one
		}
		return width, height
	})
}

// suit decides by the variables that terminals and people set: TERM=dumb can't move the cursor, and NO_COLOR (https://no-color.org)
// asks for no colors.
func suit(isTerminal bool, getenv func(string) string) (style Style, live bool) {
	live = isTerminal && getenv("TERM") != "dumb" && getenv("TERM") != ""
	return Style{Color: live && getenv("NO_COLOR") == ""}, live
}
