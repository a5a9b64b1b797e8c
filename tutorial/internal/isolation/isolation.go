// Package isolation keeps what students hand in away from the grader. There are two walls. The outer one is a cell around a
// submission's cluster, suite and operator: a process tree with files, processes and a network of its own, and with limits. The
// inner one is the confinement of the operator alone: see [confinement].
//
// Both are this program, executed again. So a program that uses the package calls [Main] first thing in main or TestMain.
//
//	walls, err := isolation.Choose(ctx, "")
//	usage, err := walls.Run(ctx, isolation.Command{Args: []string{suite}, …})
package isolation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/example/operator-testbed/e2e/confinement"
)

// Command is what runs in a cell.
type Command struct {
	// Args are the program, as an absolute path, and its arguments.
	Args []string
	// Dir is the working directory. Empty means the root.
	Dir string
	// Env is the whole environment: nothing is inherited.
	Env []string
	// Stdout and Stderr get what the processes of the cell print. nil discards it.
	Stdout, Stderr io.Writer
	// Report gets what the command writes to the file descriptor [ReportDescriptor], which nothing else is written to: Stderr then gets all
	// that is printed. nil means that the command has no such descriptor. An error of Report ends the cell.
	Report io.Writer
	// Readable and Writable are files and directories that the cell sees at their own paths, besides the system's programs and
	// libraries. What is not listed does not exist there. Without an outer wall, they are not kept.
	Readable, Writable []string
	// Scratch are directories for what nobody reads once the cell is gone. They are empty at first and in memory, so nothing that
	// a process makes in them can outlive the cell or fill a disk. Without an outer wall, they are directories of this machine.
	Scratch []string
	// Limits are of all processes of the cell together.
	Limits Limits
}

// ReportDescriptor is the file descriptor for the Report of a [Command].
const ReportDescriptor = 3

// Limits are what a cell may use. Zero means as much as it likes.
type Limits struct {
	// Time is how long it may run, and CPU how much processor time it may use.
	Time, CPU time.Duration
	// Memory is the memory of its processes, in bytes, without what is only cached of files. It also limits each directory in memory,
	// such as /tmp.
	Memory int64
	// Processes counts processes and their threads, as TasksMax of systemd does: Kubernetes has some 200.
	Processes int
	// FileSize is how large one file can get, in bytes.
	FileSize int64
	// Scratch is how much each directory in [Command.Scratch] can hold, in bytes.
	Scratch int64
	// Output is how much is kept of each of stdout and stderr, in bytes: the first half of it as it is printed, and then the last.
	Output int64
}

// Usage is what a cell has used.
type Usage struct {
	// CPU is the processor time of all its processes.
	CPU time.Duration
	// Memory is the highest sum of the memory of its processes that was seen.
	Memory int64
	// Exit is the exit code of its command: 128 and the number of the signal if one has ended it.
	Exit int
	// Exceeded is the limit that has ended it, such as "memory", or empty. See the constants.
	Exceeded string
}

// The limits that end a cell, in [Usage].
const (
	ExceededTime      = "time"
	ExceededCPU       = "cpu"
	ExceededMemory    = "memory"
	ExceededProcesses = "processes"
)

// What one can choose, besides both walls.
const (
	// WantBoth is the default.
	WantBoth = ""
	// WantInner confines the operator only.
	WantInner = "inner"
	// WantOuter has a cell, in which the operator is as free as the suite.
	WantOuter = "outer"
	// WantNone trusts the submission.
	WantNone = "none"
)

// The kinds of the outer wall, from the first that is tried to the last.
const (
	namespaces = "namespaces"
	bubblewrap = "bubblewrap"
	container  = "container"
	none       = "none"
)

// Walls are those between a submission and this machine.
type Walls struct {
	outer, inner string
}

// Isolation returns what the walls are made of, for a result: "namespaces", "bubblewrap", "container" or "none", and such as
// "landlock7+seccomp" or "none".
func (w Walls) Isolation() (outer, inner string) { return w.outer, w.inner }

// Choose finds out which walls this machine can build, by building them around nothing. The error says in one sentence what is
// missing, and the remedy.
func Choose(ctx context.Context, want string) (Walls, error) {
	walls := Walls{outer: none, inner: none}
	switch want {
	case WantBoth, WantInner, WantOuter, WantNone:
	default:
		return walls, fmt.Errorf("unknown isolation %q: say inner, outer or none, or leave it out for both walls", want)
	}
	if want == WantBoth || want == WantInner {
		inner, err := probeInner(ctx, want == WantInner)
		if err != nil {
			return walls, fmt.Errorf("no operator can be confined on this machine: %w: grade on another machine, or say --isolation=outer "+
				"if no student would read the grader's tokens", err)
		}
		walls.inner = inner
	}
	if want == WantBoth || want == WantOuter {
		outer, err := firstOuter(ctx)
		if err != nil {
			return walls, err
		}
		walls.outer = outer
	}
	return walls, nil
}

// firstOuter returns the first outer wall that works.
func firstOuter(ctx context.Context) (string, error) {
	var reasons []string
	for _, kind := range []string{namespaces, bubblewrap, container} {
		err := probeOuter(ctx, kind)
		if err == nil {
			return kind, nil
		}
		reasons = append(reasons, fmt.Sprintf("%s: %v", kind, err))
	}
	return "", fmt.Errorf("no cell can be built on this machine (%s): install bubblewrap (apt-get install bubblewrap) or start Docker, "+
		"or say --isolation=inner if you trust the students with this machine's network", strings.Join(reasons, "; "))
}

// probeOuter builds a cell with nothing in it.
func probeOuter(ctx context.Context, kind string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var said strings.Builder
	usage, err := Walls{outer: kind, inner: none}.Run(ctx, Command{
		Args: []string{self, nothingCommand}, Stderr: &said, Limits: Limits{Time: probeTime},
	})
	switch {
	case err != nil:
		return err
	case usage.Exceeded != "":
		return fmt.Errorf("it took longer than %v", probeTime)
	case usage.Exit != 0:
		return fmt.Errorf("a program that does nothing ended with exit code %d: %s", usage.Exit, lastLine(said.String()))
	}
	return nil
}

// probeTime bounds a probe: a container's image is made at the first one.
const probeTime = time.Minute

// scopedVersion is the version of Landlock from which on signals and abstract sockets are restricted, as well as ports.
const scopedVersion = 6

// probeInner confines a program that does nothing. alone says that there is no cell around it.
func probeInner(ctx context.Context, alone bool) (string, error) {
	inner, err := confinement.Supported()
	if err != nil {
		return "", err
	}
	if version := confinement.Version(); alone && version < scopedVersion {
		return "", fmt.Errorf("without a cell it takes version %d of Landlock (Linux 6.12), and the kernel has %d", scopedVersion, version)
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	program, err := confinement.Rules{}.CommandLine(self, nothingCommand)
	if err != nil {
		return "", err
	}
	var said strings.Builder
	usage, err := Walls{outer: none, inner: none}.Run(ctx, Command{Args: program, Stderr: &said, Limits: Limits{Time: probeTime}})
	if err == nil && usage.Exit != 0 {
		err = errors.New(lastLine(said.String()))
	}
	return inner, err
}

// Confines reports whether there is an inner wall, which the suite builds around the operator: see runner.Confinement.
func (w Walls) Confines() bool { return w.inner != none && w.inner != "" }

// lastLine is what a program that failed said last.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// The first arguments by which this program knows what it was executed as.
const (
	cellCommand    = "isolation-cell"
	nothingCommand = "isolation-nothing"
)

// Main turns this process into the init process of a cell, if it was executed as one, and then never returns. In every other process it returns at once. Call it first thing in main or TestMain, before flags are parsed.
func Main() {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case cellCommand:
		os.Exit(cellMain())
	case nothingCommand:
		os.Exit(0)
	}
}
