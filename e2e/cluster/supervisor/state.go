package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const stateFile = "state.json"

// state is what a supervisor writes down for the case that it is killed: who
// has to be ended then.
type state struct {
	PID       int      `json:"pid"`
	Processes []record `json:"processes"`
}

// record identifies one process for good: the id may be given to another
// process once this one is gone, the id and the birth together may not.
type record struct {
	Name  string `json:"name"`
	PID   int    `json:"pid"`
	Birth string `json:"birth"`
}

// write replaces the file as a whole: a reader never sees half of it. One goroutine at a time writes.
func (s state) write(dir string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, stateFile)
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func readState(dir string) (state, error) {
	var s state
	data, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil // it was killed before it ran anything
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("read %s: %w", filepath.Join(dir, stateFile), err)
	}
	return s, nil
}

// Clean removes what a supervisor has left in dir when it was killed: processes that outlived it (on Linux the kernel has killed them
// already) and the directory. It returns [ErrRunning] if the supervisor runs, and nil if there is nothing to clean up.
func Clean(dir string) error {
	lock, err := lockIn(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	return cleanLocked(dir)
}

// cleanLocked is Clean for somebody who holds the lock.
func cleanLocked(dir string) error {
	s, err := readState(dir)
	if err != nil {
		return err
	}
	for _, r := range s.Processes {
		if err := r.kill(); err != nil {
			return fmt.Errorf("end %s, left over from %s: %w", r.Name, dir, err)
		}
	}
	return remove(dir)
}

// kill ends the recorded process with its group if it is still that one, and
// returns when it is gone.
func (r record) kill() error {
	// On Linux the handle is a pidfd: from here on the id can't be recycled
	// under our hands.
	process, err := os.FindProcess(r.PID)
	if err != nil {
		return nil // Unix: never, but gone is what we want
	}
	defer func() { _ = process.Release() }()
	if !r.alive() {
		return nil
	}
	_ = syscall.Kill(-r.PID, syscall.SIGKILL)
	if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), killLimit, fmt.Errorf("process %d is still there %v after a SIGKILL", r.PID, killLimit))
	defer cancel()
	return r.ended(ctx)
}

// ended waits until the recorded process has ended. It is not our child, so there is nothing portable to wait on.
func (r record) ended(ctx context.Context) error {
	for r.alive() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(exitPoll):
		}
	}
	return nil
}

// killLimit is how long a process may take to be gone after a SIGKILL. It takes
// milliseconds; one in an uninterruptible system call must not keep us forever.
const killLimit = 30 * time.Second

// exitPoll is the pause between two looks at a process that is not our child:
// there is no portable way to wait for its end.
const exitPoll = 2 * time.Millisecond

// alive reports whether the process with this id is the recorded one. A zombie
// isn't: it has ended, and only its parent can take it away.
func (r record) alive() bool {
	born, err := birth(r.PID)
	return err == nil && born == r.Birth
}
