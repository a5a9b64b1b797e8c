package supervisor

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// sleep starts a process that is not in any supervisor's hands, and returns
// its record.
func sleep(t *testing.T) (*exec.Cmd, record) {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = ownGroup()
	if err := newSpawner().start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	born, err := birth(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, record{Name: "sleep", PID: cmd.Process.Pid, Birth: born}
}

// leftover makes the directory that a supervisor leaves when it is killed.
func leftover(t *testing.T, processes ...record) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "group")
	lock, err := acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := (state{PID: 1, Processes: processes}).write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCleanEndsWhatIsLeft(t *testing.T) {
	cmd, r := sleep(t)
	dir := leftover(t, r)
	if err := Clean(dir); err != nil {
		t.Fatal(err)
	}
	if r.alive() {
		t.Error("expected the recorded process to be gone")
	}
	_ = cmd.Wait()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("expected the directory to be gone, got %v", err)
	}
}

// The id in an old state file may belong to another process by now.
func TestCleanSparesARecycledID(t *testing.T) {
	_, r := sleep(t)
	other := r
	other.Birth = "at another time"
	if err := Clean(leftover(t, other)); err != nil {
		t.Fatal(err)
	}
	if !r.alive() {
		t.Error("expected the process that only has the id to live")
	}
}

func TestCleanRefusesAFileItCannotRead(t *testing.T) {
	dir := leftover(t)
	if err := os.WriteFile(filepath.Join(dir, stateFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Clean(dir); err == nil {
		t.Error("expected an error: who knows what runs there")
	}
}

func TestBirthTellsProcessesApart(t *testing.T) {
	_, a := sleep(t)
	time.Sleep(20 * time.Millisecond) //nolint:forbidigo // the clock of births ticks every 10 ms
	_, b := sleep(t)
	if a.Birth == b.Birth {
		t.Errorf("expected two births, got %s twice", a.Birth)
	}
	if again, err := birth(a.PID); err != nil || again != a.Birth {
		t.Errorf("expected the birth to stay %s, got %s, %v", a.Birth, again, err)
	}
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if born, err := birth(cmd.Process.Pid); err == nil {
		t.Errorf("expected a process that has ended to have no birth, got %s", born)
	}
}

func TestPauseBefore(t *testing.T) {
	for _, test := range []struct{ last, ran, want time.Duration }{
		{0, 0, firstPause},
		{firstPause, time.Second, 2 * firstPause},
		{4 * time.Second, time.Second, longestWait},
		{longestWait, time.Second, longestWait},
		{longestWait, settled, firstPause},
	} {
		if got := pauseBefore(test.last, test.ran); got != test.want {
			t.Errorf("last pause %v, ran for %v: expected %v, got %v", test.last, test.ran, test.want, got)
		}
	}
}

// Whoever lists clusters cleans what looks dead, also while others start.
func TestCleanSparesWhatIsBeingStarted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "group")
	done := make(chan struct{})
	var cleaners sync.WaitGroup
	for range 4 {
		cleaners.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := Clean(dir); err != nil && !errors.Is(err, ErrRunning) {
					t.Errorf("Clean: expected nothing or %v, got %v", ErrRunning, err)
				}
				runtime.Gosched() // on a single processor, the others would wait for the end of its turn
			}
		})
	}
	for range 500 {
		lock, err := acquire(dir)
		if err != nil {
			t.Errorf("expected the lock of a directory that nobody else starts in, got %v", err)
			break
		}
		if _, err := os.Stat(filepath.Join(dir, lockFile)); err != nil {
			t.Errorf("expected the directory to stay, got %v", err)
		}
		if err := errors.Join(remove(dir), lock.Close()); err != nil {
			t.Error(err)
		}
	}
	close(done)
	cleaners.Wait()
}

func TestLockHasOneHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "group")
	first, err := acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := acquire(dir); err == nil {
		t.Error("expected the second to be refused while the first holds the lock")
	}
	if err := remove(dir); err != nil {
		t.Fatal(err)
	}
	// The first still holds its lock, but of a file that is gone.
	second, err := acquire(dir)
	if err != nil {
		t.Errorf("expected the name to be free, got %v", err)
	}
	_ = first.Close()
	_ = second.Close()
}
