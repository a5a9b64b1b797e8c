package framework

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// reportVariable is the environment variable that says where a suite reports: the absolute path of a file, or "fd:3" for a file
// descriptor that the suite has inherited.
const reportVariable = "TESTBED_REPORT"

// descriptorPrefix precedes the number of a descriptor in [reportVariable].
const descriptorPrefix = "fd:"

// reporter is where suites write their results. The zero value writes nothing.
type reporter struct {
	path string // of a file that several suites may share

	mu      sync.Mutex
	channel *os.File // an inherited descriptor, in place of a file
}

// inherited is the reporter of this process, opened before anything else can start a process.
var inherited, errInherited = openReporter(os.Getenv(reportVariable))

// openReporter returns the reporter for a value of [reportVariable].
//
// A grader passes the writing end of a pipe, because what was written to it can't be changed. No other process can write to it: those
// that this one starts don't inherit it and don't see the variable, and none can open it through this process's entry in /proc.
func openReporter(value string) (*reporter, error) {
	number, descriptor := strings.CutPrefix(value, descriptorPrefix)
	if !descriptor {
		return &reporter{path: value}, nil
	}
	fd, err := strconv.Atoi(number)
	if err != nil || fd <= syscall.Stderr {
		return nil, fmt.Errorf("invalid %s %q: want the absolute path of a file, or a file descriptor such as fd:3", reportVariable, value)
	}
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return nil, fmt.Errorf("%s names the file descriptor %d, which is not open: %w", reportVariable, fd, err)
	}
	syscall.CloseOnExec(fd)
	if err := hideProcess(); err != nil {
		return nil, fmt.Errorf("hide this process from others: %w", err)
	}
	return &reporter{channel: os.NewFile(uintptr(fd), "report")}, os.Unsetenv(reportVariable)
}

// write adds a line, in one write.
func (r *reporter) write(result Result) error {
	if r == nil || r.path == "" && r.channel == nil {
		return nil
	}
	line, err := json.Marshal(result)
	if err != nil {
		return err
	}
	if r.channel == nil {
		return appendTo(r.path, string(line)+"\n")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err = r.channel.Write(append(line, '\n'))
	return err
}
