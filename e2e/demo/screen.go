package demo

import (
	"fmt"
	"io"
	"strings"
)

// Screen shows a log of lines and, on a terminal, the newest picture below
// them. It is not safe for concurrent use.
type Screen struct {
	out io.Writer
	// size returns the terminal's width and height now; nil where out is not a
	// terminal. Asked at every drawing, because people resize windows.
	size func() (width, height int)
	// style without a width; see Style.
	style Style

	hidden bool // the cursor
	drawn  int  // lines of the picture that stand below the log now
}

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	eraseBelow = "\x1b[J"
)

// NewScreen returns a screen that writes to out. A nil size says that out is
// not a terminal: then there are only lines, and pictures are not drawn.
func NewScreen(out io.Writer, style Style, size func() (width, height int)) *Screen {
	return &Screen{out: out, style: style, size: size}
}

// Style is how text may be drawn on this screen at this moment.
func (s *Screen) Style() Style {
	style := s.style
	if s.size != nil {
		style.Width, _ = s.size()
	}
	return style
}

// Line adds a line to the log.
func (s *Screen) Line(line string) {
	_, _ = io.WriteString(s.out, s.erase()+line+"\n")
}

// Draw replaces the picture below the log. It does nothing where there is no
// terminal, or where the picture is higher than the window: what has scrolled
// away can't be redrawn.
func (s *Screen) Draw(state State) {
	if s.size == nil {
		return
	}
	text := s.erase()
	_, height := s.size()
	picture := "\n" + state.Picture(s.Style())
	if lines := strings.Count(picture, "\n"); lines < height {
		if !s.hidden {
			s.hidden = true
			text += hideCursor
		}
		text += picture
		s.drawn = lines
	}
	// One write, so that no half-drawn picture is ever seen.
	_, _ = io.WriteString(s.out, text)
}

// Close removes the picture and gives the cursor back. Call it before anything
// else is written, and on every way out. It may be called more than once.
func (s *Screen) Close() {
	text := s.erase()
	if s.hidden {
		s.hidden = false
		text += showCursor
	}
	_, _ = io.WriteString(s.out, text)
}

// erase returns what removes the picture: up as many lines as it has, to the
// first column, clear the rest.
func (s *Screen) erase() string {
	if s.drawn == 0 {
		return ""
	}
	up := s.drawn
	s.drawn = 0
	return fmt.Sprintf("\x1b[%dA\r%s", up, eraseBelow)
}
