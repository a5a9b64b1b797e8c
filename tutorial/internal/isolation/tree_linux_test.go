package isolation

import (
	"os"
	"testing"
)

func TestConsumption(t *testing.T) {
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
