package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// engine is a dockerd that make docker-up starts, with a directory for its files.
type engine struct {
	dir string
}

// record is what down must know of what up has found and done.
type record struct {
	PID int `json:"pid"`
	// IPForward and ForwardPolicy are the machine's settings from before. The latter
	// is an option of iptables.
	IPForward     string `json:"ipForward"`
	ForwardPolicy string `json:"forwardPolicy"`
}

const ipForward = "/proc/sys/net/ipv4/ip_forward"

// longest is how long the directory's name may be: Docker's containerd makes sockets
// in it, whose names Linux limits to 107 bytes.
const longest = 70

func (e engine) path(name string) string { return filepath.Join(e.dir, name) }

// running returns the process id of the dockerd that an earlier up started, 0 if it
// does not run.
func (e engine) running() int {
	r, err := e.record()
	if err != nil || r == nil || !e.isOurs(r.PID) {
		return 0
	}
	return r.PID
}

// isOurs reports whether a process is the dockerd with its data in the engine's
// directory: the number may be that of another process by now.
func (e engine) isOurs(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	args := strings.Split(string(line), "\x00")
	return err == nil && filepath.Base(args[0]) == "dockerd" && slices.Contains(args, e.path("data"))
}

func (e engine) record() (*record, error) {
	data, err := os.ReadFile(e.path("engine.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", e.path("engine.json"), err)
	}
	return &r, nil
}

// start starts dockerd, and returns its version as soon as it answers.
func (e engine) start(ctx context.Context, missing []string) (string, error) {
	if len(e.dir) > longest {
		return "", fmt.Errorf("the name of the directory %s is too long for Docker's sockets: set TESTBED_STATE to a shorter one", e.dir)
	}
	dockerd, err := exec.LookPath("dockerd")
	if err != nil {
		return "", errors.New("docker.io is installed, but there is no dockerd on PATH: add /usr/sbin to PATH")
	}
	if err := os.MkdirAll(e.dir, 0o711); err != nil {
		return "", err
	}
	before, err := snapshot(ctx)
	if err != nil {
		return "", err
	}
	args := []string{"--data-root", e.path("data"), "--exec-root", e.path("exec"), "--pidfile", e.path("dockerd.pid")}
	if len(missing) > 0 {
		if err := copySelf(e.path(wrapperName)); err != nil {
			return "", err
		}
		args = append(args, "--add-runtime", "bounded="+e.path(wrapperName), "--default-runtime", "bounded")
	}
	log, err := os.Create(e.path("dockerd.log"))
	if err != nil {
		return "", err
	}
	defer log.Close()
	cmd := exec.Command(dockerd, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("start %s: %w", dockerd, err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	before.PID = cmd.Process.Pid
	if err := e.write(before); err != nil {
		return "", errors.Join(err, cmd.Process.Kill())
	}
	version, err := e.await(ctx, exited)
	if err != nil {
		return "", errors.Join(err, e.stop(context.WithoutCancel(ctx), before))
	}
	return version, nil
}

// await waits until dockerd answers. It has no event to wait for, so await asks five
// times a second.
func (e engine) await(ctx context.Context, exited <-chan error) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("it did not answer within a minute"))
	defer cancel()
	ask := time.NewTicker(200 * time.Millisecond)
	defer ask.Stop()
	for {
		select {
		case <-ask.C:
			if version, err := answers(ctx); err == nil {
				return version, nil
			}
		case err := <-exited:
			return "", fmt.Errorf("dockerd exited immediately (%w): %s", err, e.lastLog())
		case <-ctx.Done():
			return "", fmt.Errorf("dockerd is not ready: %w: %s", context.Cause(ctx), e.lastLog())
		}
	}
}

// lastLog returns the last line of Docker's log, which is removed with the directory.
func (e engine) lastLog() string {
	log, err := os.ReadFile(e.path("dockerd.log"))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	return lines[len(lines)-1]
}

func (e engine) write(r *record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(e.path("engine.json"), data, 0o644)
}

// stop removes all containers and networks, stops dockerd, restores the machine's
// network settings, and removes the directory.
func (e engine) stop(ctx context.Context, r *record) error {
	if e.isOurs(r.PID) {
		if err := empty(ctx); err != nil {
			say("continuing: %v", err) // dockerd stops the containers as well when it exits
		}
		// dockerd is not a child of this process, so it can't wait for it.
		if _, err := output(ctx, "", "start-stop-daemon", "--stop", "--oknodo", "--retry=TERM/30/KILL/5", "--name=dockerd", "--pid="+strconv.Itoa(r.PID)); err != nil {
			return fmt.Errorf("dockerd (process %d) does not exit: %w", r.PID, err)
		}
	}
	failed := restore(ctx, r)
	if err := unmount(ctx, e.dir); err != nil {
		return errors.Join(failed, err)
	}
	return errors.Join(failed, os.RemoveAll(e.dir))
}

// empty removes the containers and networks of the engine.
func empty(ctx context.Context) error {
	containers, err := output(ctx, "", "docker", "ps", "--all", "--quiet")
	if ids := strings.Fields(containers); len(ids) > 0 {
		_, err = output(ctx, "", "docker", append([]string{"rm", "--force", "--volumes"}, ids...)...)
	}
	_, failed := output(ctx, "", "docker", "network", "prune", "--force")
	return errors.Join(err, failed)
}

// copySelf copies this program to the engine's data, because make clean removes it
// from the repository.
func copySelf(path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o755)
}

// output runs a command and returns its standard output.
func output(ctx context.Context, stdin, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(failed.Stderr))
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
