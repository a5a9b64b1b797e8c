// Package procstat reads what Linux reports about processes in /proc/PID/stat: see proc_pid_stat(5).
package procstat

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Stat is what the file of a process says.
type Stat struct {
	PID int
	// Name is that of the program, cut off after 15 characters.
	Name string
	// State is a letter, such as S for a process that sleeps, and Z for one that has exited but has not been waited for.
	State   string
	Parent  int
	Group   int
	Threads int
	// CPU is its user and system time, and ChildrenCPU that of the children that it has waited for.
	CPU, ChildrenCPU time.Duration
	// Start is when it has started, in ticks since the boot.
	Start int64
	// Resident is its resident memory, in bytes. Memory that it shares with others counts.
	Resident int64
}

// tick is the unit of times: see sysconf(_SC_CLK_TCK), which is 100 on all platforms that Go supports.
const tick = time.Second / 100

// Read returns the Stat of a process.
func Read(pid int) (Stat, error) {
	file := fmt.Sprintf("/proc/%d/stat", pid)
	line, err := os.ReadFile(file)
	if err != nil {
		return Stat{}, err
	}
	return parse(file, line)
}

// All yields each process of this machine, or an error about a file that it can't understand. It leaves out processes that exit meanwhile.
func All() iter.Seq2[Stat, error] {
	return func(yield func(Stat, error) bool) {
		files, err := filepath.Glob("/proc/[0-9]*/stat")
		if err != nil {
			yield(Stat{}, err)
			return
		}
		for _, file := range files {
			line, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			if !yield(parse(file, line)) {
				return
			}
		}
	}
}

// parse is [Parse] with the name of the file in its error.
func parse(file string, line []byte) (Stat, error) {
	s, err := Parse(line)
	if err != nil {
		err = fmt.Errorf("read %s: %w", file, err)
	}
	return s, err
}

// Parse reads the content of a file such as "7 (a name) S 1 7 …".
func Parse(line []byte) (Stat, error) {
	// The name can have spaces and parentheses.
	begin, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if begin < 0 || end < begin {
		return Stat{}, fmt.Errorf("%q has no name in parentheses", line)
	}
	state, numbers, err := split(line, 1, 4, 5, 14, 15, 16, 17, 20, 22, 24)
	if err != nil {
		return Stat{}, err
	}
	return Stat{
		PID: int(numbers[1]), Name: string(line[begin+1 : end]), State: state,
		Parent: int(numbers[4]), Group: int(numbers[5]), Threads: int(numbers[20]),
		CPU: time.Duration(numbers[14]+numbers[15]) * tick, ChildrenCPU: time.Duration(numbers[16]+numbers[17]) * tick,
		Start: numbers[22], Resident: numbers[24] * int64(os.Getpagesize()),
	}, nil
}

// split returns the state of a line, which has a name in parentheses, and the fields with these numbers, which count from 1 as the manual's
// do. The last number is the largest.
func split(line []byte, numbers ...int) (state string, values map[int]int64, err error) {
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	// The first of these, the state, is the third.
	const first = 3
	last := numbers[len(numbers)-1]
	if len(fields) <= last-first {
		return "", nil, fmt.Errorf("%q has %d fields, expected at least %d", line, first-1+len(fields), last)
	}
	values = map[int]int64{}
	for _, field := range numbers {
		text := bytes.TrimSpace(line[:bytes.IndexByte(line, '(')])
		if field >= first {
			text = fields[field-first]
		}
		if values[field], err = strconv.ParseInt(string(text), 10, 64); err != nil {
			return "", nil, fmt.Errorf("field %d of %q: %w", field, line, err)
		}
	}
	return string(fields[0]), values, nil
}
