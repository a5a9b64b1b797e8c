package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// engine is a Docker of ours, with a folder for all that it keeps.
type engine struct {
	dir string
}

// record is what down must know of what up has found and done.
type record struct {
	PID int `json:"pid"`
	// IPForward and Firewall are how the machine was before.
	IPForward string `json:"ipForward"`
	Firewall  string `json:"firewall"`
}

const ipForward = "/proc/sys/net/ipv4/ip_forward"

// longest is how long a folder's name may be: Docker's containerd makes sockets
// in it, whose names Linux limits to 107 bytes.
const longest = 70

func (e engine) path(name string) string { return filepath.Join(e.dir, name) }

// running is the process id of the dockerd that an earlier up started, 0 when it
// does not run.
func (e engine) running() int {
	r, err := e.record()
	if err != nil || r == nil || !e.isOurs(r.PID) {
		return 0
	}
	return r.PID
}

// isOurs says whether a process is the dockerd that keeps its data in our folder:
// the number may be another process's by now.
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
		return "", fmt.Errorf("the folder %s has too long a name for Docker's sockets: set TESTBED_STATE to a shorter one", e.dir)
	}
	dockerd, err := exec.LookPath("dockerd")
	if err != nil {
		return "", errors.New("docker.io is installed, and there is no dockerd on PATH: put /usr/sbin on PATH")
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
		return "", fmt.Errorf("starting %s: %w", dockerd, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	before.PID = cmd.Process.Pid
	if err := e.write(before); err != nil {
		return "", errors.Join(err, cmd.Process.Kill())
	}
	version, err := e.await(ctx, ended)
	if err != nil {
		return "", errors.Join(err, e.stop(context.WithoutCancel(ctx), before))
	}
	return version, nil
}

// await waits for an answer. Docker has no event that one could wait for, so it
// is asked, five times a second.
func (e engine) await(ctx context.Context, ended <-chan error) (string, error) {
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
		case err := <-ended:
			return "", fmt.Errorf("dockerd ended at once (%w): %s", err, e.lastLog())
		case <-ctx.Done():
			return "", fmt.Errorf("dockerd is not ready: %w: %s", context.Cause(ctx), e.lastLog())
		}
	}
}

// lastLog is the last line of Docker's log, which goes with the folder.
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

// stop removes all containers and networks, ends dockerd, puts the machine's
// network back as it was, and removes the folder.
func (e engine) stop(ctx context.Context, r *record) error {
	if e.isOurs(r.PID) {
		if err := empty(ctx); err != nil {
			say("going on: %v", err) // dockerd's end stops the containers, too
		}
		if err := e.end(ctx, r.PID); err != nil {
			return err
		}
	}
	var failed []error
	if err := restore(ctx, r); err != nil {
		failed = append(failed, err)
	}
	if err := unmount(e.dir); err != nil {
		return errors.Join(append(failed, err)...)
	}
	return errors.Join(append(failed, os.RemoveAll(e.dir))...)
}

// empty removes the containers and networks of the engine, which is ours alone.
func empty(ctx context.Context) error {
	for _, kind := range [][]string{
		{"ps", "-aq", "--", "rm", "-f", "-v"},
		{"network", "ls", "-q", "--filter", "type=custom", "--", "network", "rm"},
	} {
		split := slices.Index(kind, "--")
		output, err := exec.CommandContext(ctx, "docker", kind[:split]...).Output()
		if err != nil {
			return fmt.Errorf("docker %s: %w", strings.Join(kind[:split], " "), err)
		}
		ids := strings.Fields(string(output))
		if len(ids) == 0 {
			continue
		}
		args := append(slices.Clone(kind[split+1:]), ids...)
		if output, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("docker %s: %w: %s", strings.Join(kind[split+1:], " "), err, output)
		}
	}
	return nil
}

// end asks dockerd to end, and kills it when it does not.
func (e engine) end(ctx context.Context, pid int) error {
	for _, attempt := range []struct {
		signal   syscall.Signal
		patience time.Duration
	}{{syscall.SIGTERM, 30 * time.Second}, {syscall.SIGKILL, 5 * time.Second}} {
		if err := syscall.Kill(pid, attempt.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("ending dockerd (process %d): %w", pid, err)
		}
		if e.gone(ctx, pid, attempt.patience) {
			return nil
		}
	}
	return fmt.Errorf("dockerd (process %d) does not end", pid)
}

// gone waits for the end of a process that is not our child.
func (e engine) gone(ctx context.Context, pid int, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for e.isOurs(pid) {
		select {
		case <-look.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// copySelf puts this program beside the engine's data, where it stays when the
// repository is cleaned.
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
