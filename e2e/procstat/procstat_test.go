package procstat_test

import (
	"os"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/procstat"
)

func TestParse(t *testing.T) {
	const rest = " 3 6 7 0 -1 4194304 5 6 0 0 100 20 3 4 20 0 5 0 4711 12345 512 18446744073709551615 1 1\n"
	want := procstat.Stat{
		PID: 7, Name: "sleep", State: "S", Parent: 3, Group: 6, Threads: 5, CPU: 1200 * time.Millisecond, ChildrenCPU: 70 * time.Millisecond,
		Start: 4711, Resident: 512 * int64(os.Getpagesize()),
	}
	if got, err := procstat.Parse([]byte("7 (sleep) S" + rest)); err != nil || got != want {
		t.Errorf("got %+v, %v; expected %+v", got, err, want)
	}
	want.Name, want.State = "a) Z 1 (b c)", "Z"
	if got, err := procstat.Parse([]byte("7 (a) Z 1 (b c)) Z" + rest)); err != nil || got != want {
		t.Errorf("got %+v, %v; expected %+v", got, err, want)
	}
	for _, damaged := range []string{
		"", "7 sleep S" + rest, "7 )sleep( S" + rest, "7 (sleep) S", "7 (sleep) S 1 7", "7 (sleep) S x" + rest, "x (sleep) S" + rest,
		"7 (sleep) S 3 7 7 0 -1 4194304 0 0 0 0 1 2 3 4 20 0 5 0 4711 0",
	} {
		if got, err := procstat.Parse([]byte(damaged)); err == nil {
			t.Errorf("%q: got %+v, expected an error", damaged, got)
		}
	}
}
