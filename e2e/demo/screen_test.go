package demo_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/demo"
)

// terminal is as much of a terminal as Screen uses: it knows newlines, cursor
// up, carriage return, erase below, colors, and hiding the cursor. It shows
// what a person would see.
type terminal struct {
	lines  []string
	row    int
	hidden bool
}

var control = regexp.MustCompile(`^\x1b\[(\?25[lh]|[0-9]*[AJm])`)

func (v *terminal) Write(data []byte) (int, error) {
	rest := string(data)
	for {
		for len(v.lines) <= v.row {
			v.lines = append(v.lines, "")
		}
		if rest == "" {
			return len(data), nil
		}
		if code := control.FindStringSubmatch(rest); code != nil {
			rest = rest[len(code[0]):]
			switch n, action := code[1][:len(code[1])-1], code[1][len(code[1])-1]; action {
			case 'A':
				up, _ := strconv.Atoi(n)
				v.row = max(0, v.row-up)
			case 'J':
				v.lines = append(v.lines[:v.row], "")
			case 'l':
				v.hidden = true
			case 'h':
				v.hidden = false
			}
			continue
		}
		switch rest[0] {
		case '\n':
			v.row++
		case '\r': // Screen erases right after it, so there is nothing to overwrite
		default:
			v.lines[v.row] += rest[:1]
		}
		rest = rest[1:]
	}
}

func (v *terminal) text() string { return strings.Join(v.lines, "\n") }

func window(width, height int) func() (int, int) {
	return func() (int, int) { return width, height }
}

func TestScreenKeepsOnePictureBelowTheLog(t *testing.T) {
	var term terminal
	style := demo.Style{}
	screen := demo.NewScreen(&term, style, window(100, 40))

	screen.Line("first")
	screen.Draw(created)
	screen.Draw(rollingOut)
	screen.Line("second")
	screen.Draw(available)

	style.Width = 100
	if got, want := term.text(), "first\nsecond\n\n"+available.Picture(style); got != want {
		t.Errorf("the terminal shows:\n%s\nwant:\n%s", got, want)
	}
	if !term.hidden {
		t.Error("the cursor is not hidden while a picture is being redrawn")
	}

	screen.Close()
	if got, want := term.text(), "first\nsecond\n"; got != want {
		t.Errorf("after Close the terminal shows %q, want %q", got, want)
	}
	if term.hidden {
		t.Error("Close did not give the cursor back")
	}
}

func TestScreenFollowsTheWindow(t *testing.T) {
	var term terminal
	width := 100
	screen := demo.NewScreen(&term, demo.Style{}, func() (int, int) { return width, 40 })
	screen.Draw(rollingOut)
	width = 45
	screen.Draw(rollingOut)
	if got, want := term.text(), "\n"+rollingOut.Picture(demo.Style{Width: 45}); got != want {
		t.Errorf("the terminal shows:\n%s\nwant:\n%s", got, want)
	}
}

func TestScreenDrawsNothingHigherThanTheWindow(t *testing.T) {
	var term terminal
	screen := demo.NewScreen(&term, demo.Style{}, window(100, 5))
	screen.Draw(available)
	screen.Line("only lines")
	if got, want := term.text(), "only lines\n"; got != want {
		t.Errorf("the terminal shows %q, want %q", got, want)
	}
}

func TestScreenWithoutTerminalWritesOnlyLines(t *testing.T) {
	var out strings.Builder
	screen := demo.NewScreen(&out, demo.Style{}, nil)
	screen.Draw(created)
	screen.Line("a line")
	screen.Draw(available)
	screen.Close()
	if got, want := out.String(), "a line\n"; got != want {
		t.Errorf("written: %q, want %q", got, want)
	}
}
