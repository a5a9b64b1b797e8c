package procstat

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Environment returns the environment of a process, whose variables end with a zero. undecided is true if the process may have one that
// does not show: while it executes another program, and while it exits, /proc/PID/environ is empty or can't be opened (ESRCH), as it is
// for zombies and kernel threads.
func Environment(pid int) (environment []byte, undecided bool, err error) {
	environment, err = readAtOnce(fmt.Sprintf("/proc/%d/environ", pid))
	if len(environment) > 0 || err != nil && !errors.Is(err, syscall.ESRCH) {
		return environment, false, err
	}
	file := fmt.Sprintf("/proc/%d/stat", pid)
	line, err := os.ReadFile(file)
	if err != nil {
		return nil, false, err
	}
	undecided, err = mayHaveEnvironment(line)
	if err != nil {
		err = fmt.Errorf("read %s: %w", file, err)
	}
	return nil, undecided, err
}

// readAtOnce reads a file with a single system call. What is read of an environment with several ends early if the process executes another
// program in between.
func readAtOnce(path string) ([]byte, error) {
	for size := 16 << 10; ; size *= 4 {
		content := make([]byte, size)
		n, err := readOnce(path, content)
		if n < size || err != nil {
			return content[:n], err
		}
	}
}

func readOnce(path string, content []byte) (int, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	n, err := file.Read(content)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
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
	const flags, code, start, end = 9, 26, 50, 51
	_, numbers, err := split(line, flags, code, start, end)
	if err != nil {
		return false, err
	}
	// While Linux sets up the memory of another program, the environment ends where it starts, or nowhere. Where the code is comes last:
	// see load_elf_binary in fs/binfmt_elf.c. A process that exits has no memory any more.
	empty := numbers[code] != 0 && numbers[start] == numbers[end]
	return numbers[flags]&kernelThread == 0 && !empty, nil
}
