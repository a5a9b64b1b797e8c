package isolation

import (
	"os"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const rest = " 3 7 7 0 -1 4194304 0 0 0 0 1 2 3 4 20 0 5 0 4711 0"
	for stat, want := range map[string]status{
		"7 (sleep) S" + rest:       {pid: 7, parent: 3, tasks: 5, cpu: 100 * time.Millisecond},
		"7 (a) Z 1 (b c) Z" + rest: {pid: 7, parent: 3, tasks: 5, cpu: 100 * time.Millisecond},
	} {
		if got, ok := parseStat([]byte(stat)); got != want || !ok {
			t.Errorf("%s: got %+v, %v, expected %+v", stat, got, ok, want)
		}
	}
	for _, stat := range []string{"", "7 (sleep) S", "7 (sleep) S x" + rest, "x (sleep) S" + rest} {
		if got, ok := parseStat([]byte(stat)); ok {
			t.Errorf("%q: got %+v", stat, got)
		}
	}
	if own := consumptionOf(os.Getpid()); own.tasks == 0 || own.memory == 0 {
		t.Errorf("this process uses %+v", own)
	}
}

func TestBoundsIDsOfNamespaces(t *testing.T) {
	for release, want := range map[string]bool{"6.18.44-fc": true, "6.14.0-rc1": true, "7.0.1": true, "6.13.9": false, "5.15.0-91-generic": false, "unknown": false} {
		if got := boundsIDsOfNamespaces(release); got != want {
			t.Errorf("%s: got %v", release, got)
		}
	}
}
