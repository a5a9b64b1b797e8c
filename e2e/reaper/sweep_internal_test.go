package reaper

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Any user can make a directory in /tmp that looks like a dead run, and what a run guards names a program.
func TestSweepTrustsOnlyRunsOfTheUser(t *testing.T) {
	temporary, evidence := t.TempDir(), filepath.Join(t.TempDir(), "evidence")
	directory, held, err := makeDirectory(temporary)
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "script")
	guarded, err := json.Marshal(guarded{Program: script, Name: "anything"})
	err = errors.Join(err, held.Close(),
		os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\n: >'%s'\n", evidence), 0o700),
		os.WriteFile(guardFile(directory, "anything", ""), guarded, 0o600),
		os.Symlink(directory, filepath.Join(temporary, directoryPattern+"link")))
	if err != nil {
		t.Fatal(err)
	}

	sweep(temporary, os.Getuid()+1)
	if _, err := os.Stat(evidence); err == nil {
		t.Error("a program was executed that the run of another user names")
	}
	if _, err := os.Stat(directory); err != nil {
		t.Errorf("the run of another user was removed: %v", err)
	}

	sweep(temporary, os.Getuid())
	if _, err := os.Stat(evidence); err != nil {
		t.Errorf("what a dead run of this user guards was not cleaned up: %v", err)
	}
	if _, err := os.Stat(directory); err == nil {
		t.Error("a dead run of this user was not removed")
	}
}
