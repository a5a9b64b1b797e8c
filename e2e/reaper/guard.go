package reaper

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// guards is the directory with a file for each [Guard] of a run.
const guards = "guards"

// cleansVariable makes this program clean up what it was given to guard: a guarded, as JSON.
const cleansVariable = "TESTBED_CLEANS"

// guarded is something that goes with a run.
type guarded struct {
	// Program is the executable that knows how to clean up.
	Program string `json:"program"`
	// Name and Argument are those of Guard.
	Name     string `json:"name"`
	Argument string `json:"argument"`
}

var cleaners = map[string]func(argument string) error{}

// Register makes known how to clean up what [Guard] guards under a name. Call it in an init function: the program is executed again to
// clean up.
func Register(name string, clean func(argument string) error) {
	if cleaners[name] != nil {
		panic("reaper: two ways to clean up are called " + name)
	}
	cleaners[name] = clean
}

// Guard has what is registered under the name called with the argument when a run that this process belongs to ends before [Release] is
// called, by any process. Without a run, it does nothing.
func Guard(name, argument string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	data, err := json.Marshal(guarded{program, name, argument})
	if err != nil {
		return err
	}
	var failed []error
	for _, directory := range runs() {
		err := os.WriteFile(guardFile(directory, name, argument), data, 0o600)
		if !errors.Is(err, fs.ErrNotExist) { // the run is being cleaned up, and this process with it
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// Release ends the guard of what is registered under the name with this argument.
func Release(name, argument string) {
	for _, directory := range runs() {
		_ = os.Remove(guardFile(directory, name, argument))
	}
}

func guardFile(directory, name, argument string) string {
	sum := sha256.Sum256([]byte(name + "\x00" + argument))
	return filepath.Join(directory, guards, hex.EncodeToString(sum[:8]))
}

// cleanGuarded cleans up what is guarded in the run of a directory.
func cleanGuarded(directory string) error {
	files, err := filepath.Glob(filepath.Join(directory, guards, "*"))
	failed := []error{err}
	for _, file := range files {
		var g guarded
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, &g)
		}
		if err == nil {
			err = g.clean(data)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// clean cleans up, in this process if its program is the one that guards: the Go command removes the executable of a test when that has
// ended.
func (g guarded) clean(data []byte) error {
	if self, err := os.Executable(); err == nil && self == g.Program {
		return g.call()
	}
	command := exec.Command(g.Program, "--clean="+g.Name)
	command.Env = append(os.Environ(), cleansVariable+"="+string(data))
	return command.Run()
}

func (g guarded) call() error {
	clean := cleaners[g.Name]
	if clean == nil {
		return fmt.Errorf("nothing cleans up %s", g.Name)
	}
	return clean(g.Argument)
}

// cleanMain cleans up if this process was started for that, and never returns then.
func cleanMain() {
	data, ok := syscall.Getenv(cleansVariable)
	if !ok {
		return
	}
	_ = os.Unsetenv(cleansVariable)
	var g guarded
	err := json.Unmarshal([]byte(data), &g)
	if err == nil {
		err = g.call()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
