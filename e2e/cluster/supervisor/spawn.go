package supervisor

import (
	"os/exec"
	"runtime"
)

// spawner starts processes from one OS thread that lives as long as the
// supervisor. On Linux a child with a parent-death signal gets it when the
// thread that started it ends, and Go ends threads as it likes.
type spawner chan func()

func newSpawner() spawner {
	work := make(spawner)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread stays
		for start := range work {
			start()
		}
	}()
	return work
}

// start starts the command in a process group of its own.
func (s spawner) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = ownGroup()
	failed := make(chan error, 1)
	s <- func() { failed <- cmd.Start() }
	return <-failed
}
