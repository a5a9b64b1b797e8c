// Package process starts commands that do not outlive this process, and lists what runs on this machine.
//
// Each command leads a process group. A guard, which is this program again, stops the groups when this process exits in a way that it
// can't catch, such as by SIGKILL.
package process

import (
	"path"
	"strings"
	"time"
)

// Info is what the system reports of a process.
type Info struct {
	PID, Parent, Group int
	// CPU is the processor time that the process has used itself.
	CPU time.Duration
	// Exited is true for a process that has exited and that its parent has not waited for.
	Exited bool
	// Name is the last element of the path of its executable.
	Name string
	// Arguments has the whole command line, with spaces in between.
	Arguments string
}

// Descendants returns those processes of a list that the process with this id has started, directly or not.
func Descendants(all []Info, pid int) []Info {
	children := map[int][]Info{}
	for _, p := range all {
		children[p.Parent] = append(children[p.Parent], p)
	}
	var found []Info
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		for _, child := range children[next[0]] {
			if child.PID == next[0] { // macOS lists the kernel as its own parent
				continue
			}
			found = append(found, child)
			next = append(next, child.PID)
		}
	}
	return found
}

// IsTest reports whether a process is a test binary, which prints its goroutines on SIGQUIT.
func (p Info) IsTest() bool { return strings.HasSuffix(p.Name, ".test") }

// base returns the name of a program from the first argument that it was given.
func base(argument string) string { return path.Base(argument) }
