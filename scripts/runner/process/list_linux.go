package process

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/example/operator-testbed/e2e/procstat"
)

// List returns the processes of this machine.
func List() ([]Info, error) {
	var all []Info
	for s, err := range procstat.All() {
		if err != nil {
			return nil, err
		}
		p := Info{PID: s.PID, Parent: s.Parent, Group: s.Group, Name: s.Name, CPU: s.CPU, Exited: s.State == "Z"}
		// The name in stat is cut off.
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.PID)); err == nil && len(line) > 0 {
			first, _, _ := bytes.Cut(line, []byte{0})
			p.Name = base(string(first))
			p.Arguments = strings.TrimSpace(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
		all = append(all, p)
	}
	return all, nil
}
