package progress

import (
	"testing"
	"time"
)

func TestLine(t *testing.T) {
	for want, c := range map[string]struct {
		state   State
		elapsed time.Duration
	}{
		"look, 0s":                     {State{Doing: "look"}, 0},
		"[1/7] read the modules, 1m5s": {State{Step: 1, Steps: 7, Doing: "read the modules"}, 65*time.Second + 400*time.Millisecond},
		"[6/7] compile: 812 of 2,078 packages at most, 1m12s": {
			State{Step: 6, Steps: 7, Doing: "compile", Done: 812, Total: 2078, Unit: "packages at most"}, 72 * time.Second},
		"[6/7] compile, 0s":                           {State{Step: 6, Steps: 7, Doing: "compile", Total: 2078, Unit: "packages at most"}, 0},
		"[2/7] link: 1,234 of 1,234,567 programs, 0s": {State{Step: 2, Steps: 7, Doing: "link", Done: 1234, Total: 1234567, Unit: "programs"}, 0},
	} {
		if got := c.state.Line(c.elapsed, State{}); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestLineOfWorkSideBySide(t *testing.T) {
	compile := State{Step: 2, Steps: 3, Doing: "compile", Done: 12, Total: 900, Unit: "packages at most"}
	for want, beside := range map[string]State{
		"[2/3] compile: 12 of 900 packages at most; download, 7s":                    {Doing: "download", Total: 310, Unit: "MB"},
		"[2/3] compile: 12 of 900 packages at most; download: 1,020 of 2,310 MB, 7s": {Doing: "download", Done: 1020, Total: 2310, Unit: "MB"},
	} {
		if got := compile.Line(7*time.Second, beside); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		columns int
		want    string
	}{
		{0, "größer"}, // unknown
		{7, "größer"},
		{6, "größ…"},
		{3, "g…"},
	} {
		if got := fit("größer", c.columns); got != c.want {
			t.Errorf("in %d columns: %q, expected %q", c.columns, got, c.want)
		}
	}
}
