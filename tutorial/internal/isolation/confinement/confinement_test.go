package confinement

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFlags(t *testing.T) {
	want := Rules{
		Read: []string{"/a", "/b c"}, Write: []string{"/d"}, Connect: []uint16{1}, Bind: []uint16{2, 65535},
		Env: []string{"A=", "B=-c=--"}, CPU: time.Minute, FileSize: 3, Memory: 4,
	}
	program := []string{"/bin/operator", "-read=/etc/shadow", "--"}
	got, rest, err := parse(append(append(want.Flags(), "--"), program...))
	if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(rest, program) {
		t.Errorf("got %+v and %q, %v", got, rest, err)
	}
	if got, _, err := parse([]string{"-env=A=1", "-env=B=2", "-env=A=3", "--", "/a"}); err != nil || !slices.Equal(got.Env, []string{"B=2", "A=3"}) {
		t.Errorf("of two variables with one name, %q are left, %v", got.Env, err)
	}
	for args, sentence := range map[string]string{
		"":                        "give the absolute path",
		"-- operator":             "give the absolute path",
		"-bind=65536 -- /a":       "invalid value",
		"-env=LD_PRELOAD -- /a":   "want NAME=VALUE",
		"-everything=true -- /a":  "not defined",
		"-cpu=1 -read=/etc -- /a": "invalid value",
	} {
		if _, _, err := parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), sentence) {
			t.Errorf("%s: got %v, expected %q", args, err, sentence)
		}
	}
}
