package procstat_test

import (
	"os"
	"testing"

	"github.com/example/operator-testbed/e2e/procstat"
)

func TestThisProcess(t *testing.T) {
	own, err := procstat.Read(os.Getpid())
	if err != nil || own.PID != os.Getpid() || own.Parent != os.Getppid() || own.Threads == 0 || own.Resident == 0 {
		t.Errorf("got %+v, %v", own, err)
	}
	found := 0
	for s, err := range procstat.All() {
		if err != nil {
			t.Error(err)
		}
		if s.PID == os.Getpid() && s.Start == own.Start {
			found++
		}
	}
	if found != 1 {
		t.Errorf("this process is listed %d times", found)
	}
	if got, err := procstat.Read(0); err == nil {
		t.Errorf("got %+v, expected an error", got)
	}
}
