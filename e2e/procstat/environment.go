package procstat

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// MayHaveEnvironment reports whether a process whose environment was just read as empty may have one: while a process executes another
// program, /proc/PID/cmdline and /proc/PID/environ are empty, and look like those of a zombie or of a kernel thread. The answer is only
// true of a process whose environment this one may read.
func MayHaveEnvironment(pid int) (bool, error) {
	file := fmt.Sprintf("/proc/%d/stat", pid)
	line, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	may, err := mayHaveEnvironment(line)
	if err != nil {
		err = fmt.Errorf("read %s: %w", file, err)
	}
	return may, err
}

// kernelThread is the flag of a kernel thread: PF_KTHREAD in Linux's sched.h.
const kernelThread = 0x00200000

func mayHaveEnvironment(line []byte) (bool, error) {
	s, err := Parse(line)
	if err != nil {
		return false, err
	}
	if s.State == "Z" || s.State == "X" {
		return false, nil
	}
	// As in Parse, the manual counts fields from 1, and the first of these is the third.
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	const first, flags, start, end = 3, 9, 50, 51
	if len(fields) <= end-first {
		return false, fmt.Errorf("%q has %d fields, expected at least %d", line, first-1+len(fields), end)
	}
	numbers := map[int]uint64{flags: 0, start: 0, end: 0}
	for field := range numbers {
		number, err := strconv.ParseUint(string(fields[field-first]), 10, 64)
		if err != nil {
			return false, fmt.Errorf("field %d of %q: %w", field, line, err)
		}
		numbers[field] = number
	}
	// Where the environment is in memory is set, together with where it ends, when the other program is about to start.
	empty := numbers[end] != 0 && numbers[start] == numbers[end]
	return numbers[flags]&kernelThread == 0 && !empty, nil
}
