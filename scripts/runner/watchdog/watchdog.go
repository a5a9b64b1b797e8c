// Package watchdog decides when a run has stopped making progress. It looks at what a run does and never at how long it takes, so that a
// slow machine does not fail it.
package watchdog

import (
	"time"

	"github.com/example/operator-testbed/scripts/runner/process"
)

// A Watch observes a run by looking at it again and again.
type Watch struct {
	interval time.Duration // between looks
	patience int           // how many looks in a row must see nothing
	idle     int
	cpu      map[int]time.Duration // at the last look, by process
}

// New returns a Watch that is to look at a run at this interval, and takes it for one that hangs when so many looks in a row have seen
// nothing happen. It counts looks and not minutes, because a machine that was suspended has lost minutes and no look.
func New(interval time.Duration, patience int) *Watch {
	return &Watch{interval: interval, patience: patience}
}

// Look takes in whether a test has started, ended or printed since the last look, and the processes of the run. It reports whether the run
// hangs: for so many looks, that has not happened, and no compiler, linker or linter has computed. After that, it starts over.
func (w *Watch) Look(happened bool, processes []process.Info) bool {
	cpu := map[int]time.Duration{}
	for _, p := range processes {
		if p.Exited || !builds[p.Name] {
			continue
		}
		cpu[p.PID] = p.CPU
		before, known := w.cpu[p.PID]
		used := p.CPU - before
		if p.Name == goCommand {
			// While it waits for a test it still collects garbage now and then, which takes less than this.
			happened = happened || used > 0 && used >= w.interval/100
			continue
		}
		happened = happened || !known || used > 0
	}
	w.cpu = cpu
	w.idle++
	if happened {
		w.idle = 0
	}
	if w.idle < w.patience {
		return false
	}
	w.idle = 0
	return true
}

// goCommand is the name of the Go command.
const goCommand = "go"

// builds has the names of the programs that compile, link and lint.
var builds = map[string]bool{
	goCommand: true, "compile": true, "link": true, "asm": true, "cgo": true, "vet": true, "buildid": true, "pack": true,
	"cc": true, "gcc": true, "cc1": true, "as": true, "ld": true, "clang": true, "collect2": true,
	"golangci-lint": true, "actionlint": true, "govulncheck": true, "typecheck": true, "vocabulary": true,
	"controller-gen": true, "gremlins": true, "hugo": true,
}
