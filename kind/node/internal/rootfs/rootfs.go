// Package rootfs makes root file systems from Debian packages, as tar files, with
// mmdebstrap.
package rootfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/example/operator-testbed/kind/build/program"
)

// suite is Debian 12. Its systemd still boots on machines with version 1 of
// cgroups; that of Debian 13 does so only with an extra kernel argument.
const suite = "bookworm"

// Spec says what is in a root file system.
type Spec struct {
	// Name is for people, and part of the file's name.
	Name string
	// Variant is mmdebstrap's: minbase configures the packages, extract only
	// unpacks them.
	Variant  string
	Packages []string
	// Files is a directory whose files are added, or empty. FilesVersion changes
	// when they do.
	Files, FilesVersion string
	// Setup are lines of a shell script that runs at the end on this machine, with
	// the root file system's directory as $1.
	Setup []string
}

// patience is how long an interrupted mmdebstrap may take to clean up.
const patience = 10 * time.Second

// Key changes when a root file system has to be made again.
func (s Spec) Key(architecture string) string {
	parts := [][]string{{suite, architecture, s.Variant, s.hook(), s.FilesVersion}, s.Packages, s.Setup, options}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:])[:12]
}

// options leave out what nobody reads in a container. The unsafe disk access is
// the package manager's: a temporary directory needs no fsync per file.
var options = []string{
	"--dpkgopt=path-exclude=/usr/share/man/*",
	"--dpkgopt=path-exclude=/usr/share/locale/*",
	"--dpkgopt=path-exclude=/usr/share/doc/*",
	"--dpkgopt=path-include=/usr/share/doc/*/copyright",
	"--dpkgopt=force-unsafe-io",
	`--aptopt=Acquire::Languages "none"`,
}

// args are mmdebstrap's. The names of architectures that Debian and Go share are
// the only ones that kind supports.
func (s Spec) args(architecture, file, mirror string) []string {
	args := []string{"--variant=" + s.Variant, "--architectures=" + architecture, "--include=" + strings.Join(s.Packages, ",")}
	args = append(args, options...)
	if s.Files != "" {
		args = append(args, fmt.Sprintf("%s=sync-in %q /", s.hook(), s.Files))
	}
	if len(s.Setup) > 0 {
		args = append(args, s.hook()+"=set -eu\n"+strings.Join(s.Setup, "\n"))
	}
	args = append(args, suite, file)
	if mirror != "" {
		args = append(args, mirror)
	}
	return args
}

// hook is the option for a script that runs at the end. mmdebstrap accepts others
// silently, and never runs them.
func (s Spec) hook() string {
	if s.Variant == "extract" {
		return "--extract-hook"
	}
	return "--customize-hook"
}

// File is the tar file that Make returns.
func (s Spec) File(dir, architecture string) string {
	return filepath.Join(dir, s.Name+"-"+s.Key(architecture)+".tar")
}

// Make returns the tar file of a root file system in a directory, and makes it
// unless it is there. mirror is a Debian mirror, empty for Debian's own. onLine gets
// mmdebstrap's progress.
func (s Spec) Make(ctx context.Context, dir, architecture, mirror string, onLine func(string)) (string, error) {
	file := s.File(dir, architecture)
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	unfinished := filepath.Join(dir, "unfinished-"+s.Name+".tar")
	defer os.Remove(unfinished)
	var complaints []string
	mmdebstrap := program.Program{Path: "mmdebstrap", Patience: patience, OnLine: func(line string) bool {
		line = strings.TrimSpace(line)
		if message, ok := strings.CutPrefix(line, "I: "); ok {
			onLine(message)
		}
		if strings.HasPrefix(line, "E: ") || strings.HasPrefix(line, "Err:") {
			complaints = append(complaints, strings.TrimPrefix(line, "E: "))
		}
		return true
	}}
	_, err := mmdebstrap.Output(ctx, s.args(architecture, unfinished, mirror)...)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("there is no mmdebstrap on PATH, which makes a root file system from Debian packages: run `apt-get install mmdebstrap`")
	case ctx.Err() != nil:
		return "", err
	case err != nil:
		return "", explain(err, complaints)
	}
	return file, os.Rename(unfinished, file)
}

// explain adds the first complaints, which name the cause, and what to do.
func explain(err error, complaints []string) error {
	reasons := strings.Join(complaints[:min(3, len(complaints))], "; ")
	remedy := "run the same command again"
	switch {
	case strings.Contains(reasons, "Err:"), strings.Contains(reasons, "resolv"), strings.Contains(reasons, "connect"):
		remedy = "connect this machine to a Debian mirror, and name it with DEBIAN_MIRROR if it is not deb.debian.org"
	case strings.Contains(reasons, "NO_PUBKEY"), strings.Contains(reasons, "not signed"):
		remedy = "run `apt-get install debian-archive-keyring`"
	case strings.Contains(reasons, "unshare"), strings.Contains(reasons, "subuid"):
		remedy = "run it as root"
	}
	return fmt.Errorf("%w: %s: %s", err, reasons, remedy)
}
