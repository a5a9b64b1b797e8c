package sdk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/supervisor/lock"
)

// debian are the packages of Debian that ansible-operator needs, each with something that only it installs.
var debian = []struct{ name, path string }{
	{"ansible-core", "/usr/bin/ansible-playbook"},
	{"ansible", "/usr/lib/python3/dist-packages/ansible_collections/kubernetes/core"},
	{"python3-kubernetes", "/usr/lib/python3/dist-packages/kubernetes"},
	{"python3-ansible-runner", "/usr/bin/ansible-runner"},
	{"python3-requests-unixsocket", "/usr/lib/python3/dist-packages/requests_unixsocket"},
}

// AnsibleLocked is the variable with which an operator that runs ansible-operator leaves the lock to its caller.
const AnsibleLocked = "ANSIBLE_OPERATOR_LOCK=held"

// ansibleLock is the lock of the one ansible-operator that can run on a machine: the directory, and two ports, are always the same.
const ansibleLock = "/tmp/ansible-operator/lock"

// FindAnsible returns an error if this machine lacks packages that ansible-operator needs. It says how to install them.
func FindAnsible() error { return findAnsible("/") }

// findAnsible looks for the packages below the root of a file system.
func findAnsible(root string) error {
	var lacking []string
	for _, p := range debian {
		if _, err := os.Stat(filepath.Join(root, p.path)); err != nil {
			lacking = append(lacking, p.name)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	return fmt.Errorf("Ansible is incomplete: on Debian 12, type sudo apt-get install --no-install-recommends %s", strings.Join(lacking, " ")) //nolint:staticcheck // a name
}

// NeedAnsible returns the programs for a test that runs ansible-operator. It skips the test where they or Ansible are missing, and waits
// until no other ansible-operator runs on this machine. None can start before the test is over, except with AnsibleLocked.
func NeedAnsible(t testing.TB, root string) Tools {
	t.Helper()
	tools := Need(t, root)
	if err := FindAnsible(); err != nil {
		t.Skip(err)
	}
	if err := os.MkdirAll(filepath.Dir(ansibleLock), 0o755); err != nil {
		t.Fatal(err)
	}
	for logged := false; ; logged = true {
		held, err := lock.Exclusive(ansibleLock, os.O_CREATE)
		if err == nil {
			t.Cleanup(func() { _ = held.Close() })
			return tools
		}
		if !errors.Is(err, lock.ErrHeld) && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if !logged {
			t.Log("waiting for another ansible-operator on this machine to exit")
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(time.Second):
		}
	}
}
