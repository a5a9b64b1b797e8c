// Package ansible makes the root file system below an operator that is an Ansible role,
// from Debian packages: Ansible, and the Python packages that ansible-operator needs.
package ansible

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/example/operator-testbed/kind/build/lock"
	"github.com/example/operator-testbed/kind/build/progress"
	"github.com/example/operator-testbed/kind/node/internal/rootfs"
)

// system has what the packages depend on, a shell and its commands, tini, and a user for
// whom Ansible can write into a home directory. Of the collections in the package ansible,
// it keeps the one that upstream's projects use, too: the others take 230 MB. Packages that
// are only unpacked lack what their installation would compile. Without it, each run of a
// role would compile all of its modules again.
var system = rootfs.Spec{
	Name:    "ansible",
	Variant: "extract",
	Packages: []string{
		"ansible-core", "ansible", "python3-kubernetes", "python3-ansible-runner", "python3-requests-unixsocket",
		"tini", "dash", "coreutils", "libc-bin",
	},
	Setup: []string{
		`find "$1"/usr/lib/python3/dist-packages/ansible_collections -mindepth 2 -maxdepth 2 ! -path "*/kubernetes/core" -exec rm -r {} +`,
		`find "$1"/usr/lib/python3/dist-packages/ansible_collections -mindepth 1 -maxdepth 1 -type d -empty -delete`,
		`chroot "$1" /usr/bin/python3 -m compileall -q /usr/lib/python3 /usr/lib/python3.11 >/dev/null || true # some files are templates`,
		`test -d "$1"/usr/lib/python3/dist-packages/kubernetes/client/__pycache__`,
		`echo "root:x:0:0:root:/root:/bin/sh" >"$1"/etc/passwd`,
		`echo "ansible:x:1001:0:ansible:/home/ansible:/bin/sh" >>"$1"/etc/passwd`,
		`echo "root:x:0:" >"$1"/etc/group`,
		`mkdir -p "$1"/home/ansible && chown 1001:0 "$1"/home/ansible`,
	},
}

// Options say where things are, and how progress is shown.
type Options struct {
	// Cache is the testbed's cache directory.
	Cache string
	// Mirror is a Debian mirror, empty for Debian's own.
	Mirror string
	// Progress gets the progress, and nothing when there is nothing to do.
	Progress *os.File
}

// Ensure makes the root file system unless it is in the cache, and returns its tar file. The
// name changes with everything that it is made from, except the versions of Debian's packages.
func Ensure(ctx context.Context, o Options) (string, error) {
	dir := filepath.Join(o.Cache, "node", "ansible")
	if made := system.File(dir, runtime.GOARCH); exists(made) {
		return made, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	display := progress.Start(o.Progress, progress.Terminal(o.Progress), cancel)
	defer display.Stop()
	_, release, err := lock.Acquire(ctx, dir, func(holder string) {
		display.Step(progress.State{Doing: "wait for " + holder + ", which is making the root file system"})
	})
	if err != nil {
		return "", fmt.Errorf("the cache %s can't be used: %w; TESTBED_CACHE names another directory", o.Cache, err)
	}
	defer release()
	return system.Make(ctx, dir, runtime.GOARCH, o.Mirror, func(line string) {
		display.Step(progress.State{Doing: "Ansible's Debian packages: " + line})
	})
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
