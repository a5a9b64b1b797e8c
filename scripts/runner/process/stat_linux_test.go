package process

import (
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const rest = " 7 0 -1 4194560 1 0 0 0 150 25 9 9 20 0 1 0 1 1 1 1\n"
	for line, want := range map[string]Info{
		"7 (compile) R 1 7" + rest:  {PID: 7, Parent: 1, Group: 7, CPU: 1750 * time.Millisecond, Name: "compile"},
		"8 (a) (b c)) Z 7 6" + rest: {PID: 8, Parent: 7, Group: 6, CPU: 1750 * time.Millisecond, Name: "a) (b c)", Exited: true},
	} {
		if got, err := parseStat(line); err != nil || got != want {
			t.Errorf("%q: got %+v, %v; expected %+v", line, got, err, want)
		}
	}
	for _, line := range []string{"", "7 a R", "7 (a) R 1", "x (a) R 1 7" + rest} {
		if got, err := parseStat(line); err == nil {
			t.Errorf("%q: got %+v, expected an error", line, got)
		}
	}
}
