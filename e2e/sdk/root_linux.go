package sdk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// runInRoot runs a program with a directory as its root, and returns what it prints on standard output. To change the root takes a
// permission that any user has in a new user namespace, where the kernel allows these. If it does not, only root has it.
func runInRoot(ctx context.Context, root, program string, args ...string) ([]byte, error) {
	printed, err := start(ctx, root, &syscall.SysProcAttr{
		Chroot:      root,
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}, program, args...)
	if !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.ENOSPC) {
		return printed, err
	}
	if os.Geteuid() == 0 {
		return start(ctx, root, &syscall.SysProcAttr{Chroot: root}, program, args...)
	}
	return nil, fmt.Errorf("this user may not make user namespaces (%w): allow them with sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0 user.max_user_namespaces=10000, or run the same command as root", err)
}

func start(ctx context.Context, root string, attributes *syscall.SysProcAttr, program string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, program, args...) // a path in the new root
	command.Dir, command.Env, command.SysProcAttr = "/", []string{"HOME=/tmp", "TMPDIR=/tmp"}, attributes
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start it in %s: %w", root, err)
	}
	if err := command.Wait(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}
