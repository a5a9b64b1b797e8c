//go:build !linux

package process

import (
	"fmt"
	"os/exec"
	"strings"
)

// List returns the processes of this machine.
func List() ([]Info, error) {
	out, err := exec.Command("ps", "-axww", "-o", "pid=,ppid=,pgid=,stat=,time=,args=").Output()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var all []Info
	for line := range strings.Lines(string(out)) {
		p, err := parseLine(line)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}
