package embedded

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/host/home"
	"github.com/example/operator-testbed/e2e/internal/logline"
)

// endedError says that a component ended while something waited for it.
type endedError struct {
	name string
	exit supervisor.ExitStatus
	// reason reads well after how it ended, punctuation included.
	reason string
	// portTaken: somebody else listens on its port.
	portTaken bool
}

func (e *endedError) Error() string { return fmt.Sprintf("%s %s%s", e.name, e.exit, e.reason) }

// etcdSegment is what etcd takes from the disk at a time, in bytes. Where less
// is free it ends, sometimes without room for a line in its log that says so.
const etcdSegment = 64_000_000

// ended makes sense of the end of a component: from its log, and from the free
// bytes of the disk that holds dir, the cluster's directory.
func ended(name string, exit supervisor.ExitStatus, path, dir string, log []byte, free uint64) *endedError {
	e := &endedError{name: name, exit: exit, portTaken: strings.Contains(logline.Last(log), "address already in use")}
	switch words := logline.Cause(log); {
	case free < etcdSegment || bytes.Contains(log, []byte("no space left on device")):
		e.reason = ": " + fullDisk(dir)
	case words == "":
		e.reason = fmt.Sprintf(" and said nothing: see whether %s is what it should be", path)
	default:
		e.reason = "; its last message is: " + words
	}
	return e
}

// fullDisk says what it means for the cluster in a directory that its disk is
// full, and what to do.
func fullDisk(dir string) string {
	return fmt.Sprintf("the disk that holds %s is full: free some space on it, or set %s to a directory on another one", dir, home.StateVariable)
}

// freeSpace is how many bytes may still be written to the disk that holds a
// directory; where the system can't say, as many as anybody needs.
func freeSpace(dir string) uint64 {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return 1 << 62
	}
	return disk.Bavail * uint64(disk.Bsize)
}
