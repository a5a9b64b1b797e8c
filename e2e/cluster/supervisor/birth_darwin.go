package supervisor

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB of <sys/proc.h>.
const zombie = 5

// birth returns what distinguishes a process from every other one that had or
// will have its id: the time of its start. A process that has exited has none.
func birth(pid int) (string, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", err
	}
	if int(info.Proc.P_pid) != pid || info.Proc.P_stat == zombie {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	start := info.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", start.Sec, start.Usec), nil
}
