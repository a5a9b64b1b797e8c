package process

import (
	"testing"
	"time"
)

func TestParseLine(t *testing.T) {
	for line, want := range map[string]Info{
		"    7     1     7 S      0:01.50 /usr/bin/a -b c\n":   {PID: 7, Parent: 1, Group: 7, CPU: 1500 * time.Millisecond, Name: "a", Arguments: "/usr/bin/a -b c"},
		"  501   500   499 Z+     0:00.00 <defunct>\n":         {PID: 501, Parent: 500, Group: 499, Exited: true, Name: "<defunct>", Arguments: "<defunct>"},
		"   10     9     8 R    161:02.25 compile -p main\n":   {PID: 10, Parent: 9, Group: 8, CPU: 161*time.Minute + 2250*time.Millisecond, Name: "compile", Arguments: "compile -p main"},
		"   10     9     8 R 1-02:00:03 /tmp/x.test -test.v\n": {PID: 10, Parent: 9, Group: 8, CPU: 26*time.Hour + 3*time.Second, Name: "x.test", Arguments: "/tmp/x.test -test.v"},
	} {
		if got, err := parseLine(line); err != nil || got != want {
			t.Errorf("%q: got %+v, %v; expected %+v", line, got, err, want)
		}
	}
	for _, line := range []string{"", "a b c", "1 2 3 S when args"} {
		if got, err := parseLine(line); err == nil {
			t.Errorf("%q: got %+v, expected an error", line, got)
		}
	}
}
