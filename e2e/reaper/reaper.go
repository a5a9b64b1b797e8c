// Package reaper ends what a program has started when the program has ended, however that ended: it returned, it got a signal such as
// SIGKILL or SIGQUIT, or Go's -timeout ended the tests.
//
// Tests use it like this:
//
//	func TestMain(m *testing.M) { os.Exit(reaper.Run(m)) }
//
// The reaper is the program itself, executed a second time, in its own session. The program holds one end of a pipe, and the reaper
// the other. Everything that the program starts inherits an environment variable, by which the reaper finds it, also what has detached
// from the program, such as the supervisor of a cluster that `make up` has started. What the operating system does not know as a
// process of the program, such as a container, is registered with [Guard].
//
// A run is what belongs to one program. It has a directory among the temporary files, which also holds the temporary files of a test.
// Runs can be nested. A run whose reaper was killed, too, is cleaned up by the next program that starts one.
package reaper

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/example/operator-testbed/e2e/cluster/supervisor/lock"
	"github.com/example/operator-testbed/e2e/host/home"
)

const (
	// Variable names the directories of the runs that a process belongs to, the innermost last. An environment that is made from nothing
	// needs it, with its [Value].
	Variable = "TESTBED_RUNS"
	// reapsVariable makes this program the reaper of the run in the directory that it names.
	reapsVariable = "TESTBED_REAPS"

	directoryPattern = "testbed-run-"
	lockFile         = "lock"
	temporaryFiles   = "t" // the path of a socket can have no more than 104 bytes
)

// lockFD is the lock of the run's directory in the reaper.
const lockFD = 3

// Main makes this process the reaper if [Start] has started it as one, and never returns then. Otherwise it returns at once. Call it first
// thing in main. [Run] calls it.
func Main() {
	cleanMain()
	directory, ok := syscall.Getenv(reapsVariable)
	if !ok {
		return
	}
	// Catching these signals, rather than ignoring them, leaves their disposition in the programs that clean up as it was.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	closeInherited()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	select {
	case <-ended:
	case <-signals: // from the reaper of an outer run, which ends the program of this one, too
	}
	if err := reap(directory); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// closeInherited closes the files that came from the program without being meant for the reaper, such as a shell's pipe, whose reader
// would wait for the reaper's end. What Go opens is not inherited.
func closeInherited() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, entry := range entries {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd <= lockFD {
			continue
		}
		if flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0); errno == 0 && flags&syscall.FD_CLOEXEC == 0 {
			_ = syscall.Close(fd)
		}
	}
}

// Tests are the tests of a package: a *testing.M.
type Tests interface {
	Run() int
}

// Run runs the tests of a package in their own run, with their own temporary files, and returns the exit code.
func Run(m Tests) int {
	Main()
	defer Begin().End()
	return m.Run()
}

// Begin is [Start] for tests that are not run by [Run]: the run has its own temporary files, and an error ends this program.
func Begin() *Started {
	run, err := Start()
	if err == nil {
		err = run.UseTemporaryFiles()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "starting what ends the processes of the tests with them: %v\n", err)
		os.Exit(1)
	}
	return run
}

// A Started is a run that this program has started.
type Started struct {
	directory string
	lock      *os.File
	lifeline  io.Closer
	reaper    *exec.Cmd
}

// Start starts a run. From then on, what this program starts is ended when the program exits. First it cleans up the runs whose reaper was
// killed.
func Start() (_ *Started, err error) {
	temporary := os.TempDir()
	sweep(temporary, os.Getuid())
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	directory, held, err := makeDirectory(temporary)
	if err != nil {
		return nil, err
	}
	command := exec.Command(self)
	// A program that does not call Main refuses a flag that it does not know. ps(1) shows the flag.
	command.Args = []string{self, "--reap=" + directory}
	command.Env = append(os.Environ(), reapsVariable+"="+directory)
	command.Dir = temporary
	command.ExtraFiles = []*os.File{held}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	lifeline, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	if err == nil {
		err = os.Setenv(Variable, strings.Join(append(runs(), directory), string(filepath.ListSeparator)))
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(directory))
	}
	s := &Started{directory, held, lifeline, command}
	started = append(started, s)
	return s, nil
}

// started keeps the lifelines: a file is closed when nothing refers to it any more.
var started []*Started

// Directory is the directory of the run, which is removed with everything in it.
func (s *Started) Directory() string { return s.directory }

// UseTemporaryFiles makes the temporary files of this program, and of what it starts, part of the run. See [home.Temporary] for those that
// outlive it.
func (s *Started) UseTemporaryFiles() error {
	directory := filepath.Join(s.directory, temporaryFiles)
	// Like /tmp, for programs that a test runs as another user.
	return errors.Join(os.Mkdir(directory, 0o700), os.Chmod(directory, 0o777|os.ModeSticky), os.Chmod(s.directory, 0o711),
		os.Setenv(home.TemporaryVariable, home.Temporary()), os.Setenv("TMPDIR", directory))
}

// End ends what is left of the run, and returns when nothing is.
func (s *Started) End() {
	_ = s.lifeline.Close()
	_ = s.reaper.Wait()
	_ = s.lock.Close()
}

// Value returns the value of [Variable].
func Value() string {
	// Not with os.Getenv: the Go command runs a test again, instead of using its cached result, when a variable has changed that the test
	// has read so.
	value, _ := syscall.Getenv(Variable)
	return value
}

// runs are the directories of the runs that this process belongs to.
func runs() []string {
	if Value() == "" {
		return nil
	}
	return filepath.SplitList(Value())
}

// makeDirectory makes the directory of a run, with its lock, which is held from the start: a run whose lock nobody holds is a dead one.
func makeDirectory(temporary string) (directory string, held *os.File, err error) {
	if directory, err = os.MkdirTemp(temporary, directoryPattern); err != nil {
		return "", nil, err
	}
	// The lock goes with the file when that is renamed.
	early := filepath.Join(directory, ".new")
	if held, err = lock.Exclusive(early, os.O_CREATE); err == nil {
		err = errors.Join(os.Mkdir(filepath.Join(directory, guards), 0o700), os.Rename(early, filepath.Join(directory, lockFile)))
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(directory))
	}
	return directory, held, nil
}

// sweep cleans up the runs of a directory whose program and reaper are dead. What can't be cleaned up is left to the next sweep. Cleaning up
// executes the programs that a run names, so only the runs of this user count: all users may write to /tmp.
func sweep(temporary string, user int) {
	directories, _ := filepath.Glob(filepath.Join(temporary, directoryPattern+"*"))
	for _, directory := range directories {
		if !isDirectoryOf(directory, user) {
			continue
		}
		held, err := lock.Exclusive(filepath.Join(directory, lockFile), 0)
		if err != nil {
			continue
		}
		_ = reap(directory)
		_ = held.Close()
	}
}

// isDirectoryOf reports whether a path is a directory that belongs to a user, and no link to one.
func isDirectoryOf(path string, user int) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	return known && int(owner.Uid) == user
}

// reap ends what belongs to the run in a directory, and removes the directory.
func reap(directory string) error {
	err := endProcesses(directory)
	return errors.Join(err, cleanGuarded(directory), removeAll(directory))
}

// removeAll removes a directory, in which there may be others that can't be written, such as a Go module cache.
func removeAll(directory string) error {
	if err := os.RemoveAll(directory); err == nil {
		return nil
	}
	_ = filepath.WalkDir(directory, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // of a directory that is about to be removed
		}
		return nil
	})
	return os.RemoveAll(directory)
}
