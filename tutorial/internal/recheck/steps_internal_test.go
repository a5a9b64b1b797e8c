package recheck

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Each step has a line at once, and another one for as long as nothing follows.
func TestSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		s := startSteps(&out)
		s.next("compiling the operator")
		if out.String() != "compiling the operator…\n" {
			t.Errorf("at first it prints %q", out.String())
		}
		after(3 * time.Second)
		s.next("running 5 of 5 features")
		after(11 * time.Second)
		s.stop()
		after(time.Minute)
		const want = "compiling the operator…\nrunning 5 of 5 features…\n" +
			"still running 5 of 5 features… (8 s)\nstill running 5 of 5 features… (13 s)\n"
		if out.String() != want {
			t.Errorf("got %q, expected %q", out.String(), want)
		}
	})
}

// after returns when so much of the test's time has passed, and everybody has done what is due.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
