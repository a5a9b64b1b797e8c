package procstat

import (
	"fmt"
	"testing"
)

func TestMayHaveEnvironment(t *testing.T) {
	line := func(state string, flags, code, start, end int) []byte {
		return fmt.Appendf(nil, "7 (a program) %s 3 6 7 0 -1 %d 5 6 0 0 100 20 3 4 20 0 5 0 4711 12345 512 18446744073709551615 "+
			"%d 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 %d %d 0\n", state, flags, code, start, end)
	}
	const user, kernel = 0x400000, 0x208040
	for name, test := range map[string]struct {
		line []byte
		want bool
	}{
		"it executes another program":    {line("R", user, 0, 0, 0), true},
		"it is about to execute it":      {line("R", user, 0, 1000, 1000), true},
		"it has executed it since":       {line("S", user, 500, 1000, 1200), true},
		"it has an empty environment":    {line("S", user, 500, 1000, 1000), false},
		"it exits":                       {line("R", user, 0, 0, 0), true},
		"it has exited":                  {line("Z", user, 0, 0, 0), false},
		"it is a thread of the kernel's": {line("I", kernel, 0, 0, 0), false},
	} {
		if got, err := mayHaveEnvironment(test.line); err != nil || got != test.want {
			t.Errorf("%s: got %t, %v; expected %t", name, got, err, test.want)
		}
	}
	for _, damaged := range []string{"", "7 (a program) R 3 6 7 0 -1 4194304 5 6 0 0 100 20 3 4 20 0 5 0 4711 12345 512 18446744073709551615 1 1"} {
		if got, err := mayHaveEnvironment([]byte(damaged)); err == nil {
			t.Errorf("%q: got %t, expected an error", damaged, got)
		}
	}
}
