package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor time in /proc, on every platform that Go supports.
const tick = time.Second / 100

// List returns the processes of this machine.
func List() ([]Info, error) {
	directories, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var all []Info
	for _, directory := range directories {
		stat, err := os.ReadFile(filepath.Join(directory, "stat"))
		if err != nil {
			continue // it has exited since
		}
		p, err := parseStat(string(stat))
		if err != nil {
			return nil, fmt.Errorf("read %s/stat: %w", directory, err)
		}
		// The name in stat is cut off after 15 characters.
		if line, err := os.ReadFile(filepath.Join(directory, "cmdline")); err == nil && len(line) > 0 {
			first, _, _ := bytes.Cut(line, []byte{0})
			p.Name = base(string(first))
			p.Arguments = strings.TrimSpace(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
		all = append(all, p)
	}
	return all, nil
}

// parseStat reads a line such as "7 (a name) S 1 7 …": see proc_pid_stat(5). A name can have spaces and parentheses.
func parseStat(line string) (Info, error) {
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return Info{}, fmt.Errorf("unknown format %q", line)
	}
	fields := strings.Fields(line[end+1:])
	if len(fields) < 13 {
		return Info{}, fmt.Errorf("unknown format %q", line)
	}
	p := Info{Name: line[open+1 : end], Exited: fields[0] == "Z"}
	var user, system int
	for _, number := range []struct {
		to   *int
		text string
	}{{&p.PID, line[:open]}, {&p.Parent, fields[1]}, {&p.Group, fields[2]}, {&user, fields[11]}, {&system, fields[12]}} {
		value, err := strconv.Atoi(strings.TrimSpace(number.text))
		if err != nil {
			return Info{}, fmt.Errorf("unknown format %q: %w", line, err)
		}
		*number.to = value
	}
	p.CPU = time.Duration(user+system) * tick
	return p, nil
}
