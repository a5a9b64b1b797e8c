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
		"[6/7] kube-apiserver: 812 of 2,078 packages, 1m12s, about 2m0s left": {
			State{Step: 6, Steps: 7, Doing: "kube-apiserver:", Done: 812, Total: 2078, Unit: "packages", Left: 118 * time.Second}, 72 * time.Second},
		"[2/7] etcd: 0 of 1,234,567 packages, 0s": {State{Step: 2, Steps: 7, Doing: "etcd:", Total: 1234567, Unit: "packages"}, 0},
	} {
		if got := c.state.Line(c.elapsed); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestEstimatesAreRounded(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		time.Millisecond:                5 * time.Second,
		13 * time.Second:                15 * time.Second,
		100 * time.Second:               105 * time.Second,
		7*time.Minute + 29*time.Second:  7 * time.Minute,
		12*time.Minute + 31*time.Second: 13 * time.Minute,
	} {
		if got := rough(d); got != want {
			t.Errorf("%s is about %s, expected %s", d, got, want)
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
