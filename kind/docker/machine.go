package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// packages are the Debian packages that build and run a kind node image. What they
// only recommend is left out: docker.io recommends cgroupfs-mount, which would change
// the machine's cgroup mounts.
var packages = []string{"docker.io", "iptables", "mmdebstrap"}

// machine is what decides whether an engine is needed and possible.
type machine struct {
	os      string
	root    bool
	debian  bool
	systemd bool
	// engine is the version of the engine that answers, or empty.
	engine string
	// refusal is why the docker command failed, if there is one.
	refusal string
	// ours is the process id of a Docker that an earlier up started, or 0.
	ours int
	// absent are the packages that are not installed.
	absent []string
	// missing are the capabilities that the bounding set lacks.
	missing []string
}

// todo is what up does on a machine.
type todo struct {
	// nothing is why there is nothing to do.
	nothing string
	install []string
	missing []string
}

// decide returns what up does. An error tells the user what to do instead.
func decide(m machine) (todo, error) {
	switch {
	case m.engine != "" && m.ours != 0:
		return todo{nothing: fmt.Sprintf("Docker %s, started by make docker-up, answers already: nothing to do", m.engine)}, nil
	case m.engine != "":
		return todo{nothing: fmt.Sprintf("Docker %s answers already: nothing to do", m.engine)}, nil
	case strings.Contains(m.refusal, "permission denied"):
		return todo{}, errors.New("there is a Docker on this machine, but you may not use it: run `sudo usermod -aG docker $USER` and log in again")
	case m.os != "linux":
		return todo{}, fmt.Errorf("make docker-up supports Debian and Ubuntu only, and this is %s: install and start Docker Desktop, or another engine that kind can use", m.os)
	case !m.debian:
		return todo{}, errors.New("make docker-up supports Debian and Ubuntu only: install and start Docker as https://docs.docker.com/engine/install says for this system")
	case !m.root:
		return todo{}, errors.New("make docker-up installs packages and starts Docker, for which it must be root: run `sudo -E make docker-up`, or install Docker yourself")
	case len(m.absent) == 0 && m.systemd:
		return todo{}, errors.New("there is a Docker on this machine that does not answer: run `systemctl start docker`, and `journalctl -u docker` to see why it failed")
	case m.ours != 0:
		return todo{}, fmt.Errorf("the Docker that make docker-up started (process %d) does not answer: run make docker-down, then make docker-up", m.ours)
	}
	return todo{install: m.absent, missing: m.missing}, nil
}

// describe says what up is about to do.
func (t todo) describe(dir string) string {
	var b strings.Builder
	b.WriteString("No container engine answers on this machine. This will\n")
	if len(t.install) > 0 {
		fmt.Fprintf(&b, "  - install with apt-get, without what they recommend: %s\n", strings.Join(t.install, ", "))
	}
	fmt.Fprintf(&b, "  - start dockerd as root, with its data and its log in %s\n", dir)
	b.WriteString("  - let dockerd do what it always does: add the network docker0 and iptables rules, and turn IP forwarding on\n")
	if len(t.missing) > 0 {
		fmt.Fprintf(&b, "  - run containers through a wrapper of runc that leaves out the capabilities that this machine does not allow: %s\n", strings.Join(t.missing, ", "))
	}
	b.WriteString("make docker-down stops it, and restores the network settings.")
	return b.String()
}

func look(ctx context.Context, e engine) machine {
	m := machine{os: runtime.GOOS, root: os.Geteuid() == 0, ours: e.running()}
	var err error
	if m.engine, err = answers(ctx); err != nil {
		m.refusal = err.Error()
	}
	_, err = exec.LookPath("apt-get")
	m.debian = err == nil
	_, err = os.Stat("/run/systemd/system")
	m.systemd = err == nil
	m.absent = absent(ctx)
	m.missing = missingCapabilities()
	return m
}

// answers returns the version of the engine that the docker command reaches.
func answers(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return output(ctx, "", "docker", "version", "--format={{.Server.Version}}")
}

// absent returns the packages that are not installed.
func absent(ctx context.Context) []string {
	var names []string
	for _, name := range packages {
		if status, err := output(ctx, "", "dpkg-query", "-W", "-f=${db:Status-Status}", name); err != nil || status != "installed" {
			names = append(names, name)
		}
	}
	return names
}

func install(ctx context.Context, names []string) error {
	for _, args := range [][]string{
		{"update", "-q"},
		append([]string{"install", "-q", "-y", "--no-install-recommends"}, names...),
	} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("apt-get %s failed (%w): its output above names the cause", args[0], err)
		}
	}
	return nil
}
