package supervisor

import (
	"fmt"
	"regexp"
	"time"
)

// Process is what to run.
type Process struct {
	// Name is unique in its group and names the log file: lower-case letters,
	// digits, '.' and '-'.
	Name string `json:"name"`
	// Path is the executable. A name without a slash is looked up in the
	// caller's PATH; a relative path is relative to the caller's directory.
	Path string `json:"path"`
	// Args are the arguments, without the program's name.
	Args []string `json:"args,omitempty"`
	// Env is the whole environment as in os/exec; nil means the caller's.
	Env []string `json:"env,omitempty"`
	// Dir is the working directory; empty means the caller's.
	Dir string `json:"dir,omitempty"`
	// Restart starts it again when it exits or is killed, after a pause that
	// grows while it keeps exiting early.
	Restart bool `json:"restart,omitempty"`
	// Grace is how long it may take to end after a SIGTERM before it gets a
	// SIGKILL. Zero means SIGKILL at once, which suits a process that has no
	// state worth saving.
	Grace time.Duration `json:"grace,omitempty"`
	// Traceable lets a debugger of the same user attach to the process.
	Traceable bool `json:"traceable,omitempty"`
}

// State is where a process is in its life.
type State string

const (
	// Running means that it has been started and has not ended.
	Running State = "Running"
	// Paused means that it is held by a SIGSTOP.
	Paused State = "Paused"
	// BackOff means that it has ended and will be started again after a pause.
	BackOff State = "BackOff"
	// Exited means that it has exited on its own, or was killed, and is not started again.
	Exited State = "Exited"
	// Stopped means that it was stopped on purpose and stays so until it is started
	// again.
	Stopped State = "Stopped"
)

// ExitStatus is how a process exited.
type ExitStatus struct {
	// Code is the exit code, or -1 when a signal ended the process.
	Code int `json:"code"`
	// Signal is the name of the signal that ended it ("killed"), if one did.
	Signal string `json:"signal,omitempty"`
	// Err says why it could not be started, if that is how it ended.
	Err string `json:"error,omitempty"`
}

// String reads well after the name of the process.
func (e ExitStatus) String() string {
	switch {
	case e.Err != "":
		return "could not be started: " + e.Err
	case e.Signal != "":
		return "was ended by the signal " + e.Signal
	default:
		return fmt.Sprintf("ended with exit code %d", e.Code)
	}
}

// ProcessStatus is what is known of a process.
type ProcessStatus struct {
	Name string `json:"name"`
	// PID is the process id, 0 while it doesn't run.
	PID   int   `json:"pid,omitempty"`
	State State `json:"state"`
	// Restarts counts the starts after the first one, whoever asked for them.
	Restarts int `json:"restarts"`
	// Started is when the process was last started.
	Started time.Time `json:"started"`
	// Exit is how the process last exited; nil if it never has.
	Exit *ExitStatus `json:"exit,omitempty"`
}

var legalName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// validate refuses what could not run under any circumstances.
func (p Process) validate() error {
	switch {
	case !legalName.MatchString(p.Name):
		return fmt.Errorf("%q is not a valid process name: use lower-case letters, digits, '.' and '-'", p.Name)
	case p.Path == "":
		return fmt.Errorf("process %s has no Path", p.Name)
	}
	return nil
}
