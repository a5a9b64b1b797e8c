package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// enginePatience is how long a container engine may take to describe itself.
const enginePatience = 5 * time.Second

// Engine is the container engine in which kind makes nodes.
type Engine struct {
	// Program is its command.
	Program string
	// Rootless says that it runs without root. Missing are then the cgroup controllers that kind needs and that it may not use.
	Rootless bool
	Missing  []string
}

// engineInfo is what engines print about themselves: Docker and nerdctl in the first fields, Podman in Host.
type engineInfo struct {
	SecurityOptions                   []string
	MemoryLimit, PidsLimit, CPUShares bool
	Host                              *struct {
		CgroupControllers []string
		Security          struct{ Rootless bool }
	}
}

// askEngine returns what an engine says of itself, or nil if it is not there or does not answer: only CLUSTER=kind needs one, and says so.
func askEngine(ctx context.Context, program string) *Engine {
	ctx, cancel := context.WithTimeout(ctx, enginePatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "info", "--format={{json .}}").Output()
	var info engineInfo
	if err != nil || json.Unmarshal(out, &info) != nil {
		return nil
	}
	return new(info.engine(program))
}

// engine returns the same facts of each engine, as kind looks for them.
func (i engineInfo) engine(program string) Engine {
	e := Engine{Program: program}
	has := map[string]bool{"cpu": i.CPUShares, "memory": i.MemoryLimit, "pids": i.PidsLimit}
	if i.Host != nil {
		e.Rootless = i.Host.Security.Rootless
		for controller := range has {
			has[controller] = slices.Contains(i.Host.CgroupControllers, controller)
		}
	} else {
		e.Rootless = slices.ContainsFunc(i.SecurityOptions, func(option string) bool { return strings.HasPrefix(option, "name=rootless") })
	}
	for controller, there := range has {
		if e.Rootless && !there {
			e.Missing = append(e.Missing, controller)
		}
	}
	slices.Sort(e.Missing)
	return e
}

// delegate lets users' programs limit what their processes take: https://kind.sigs.k8s.io/docs/user/rootless/
const delegate = `sudo mkdir -p /etc/systemd/system/user@.service.d && printf '[Service]\nDelegate=cpu cpuset io memory pids\n' | ` +
	`sudo tee /etc/systemd/system/user@.service.d/delegate.conf && sudo systemctl daemon-reload, then log in again`

func checkEngine(e *Engine) Finding {
	if e == nil {
		return Finding{Subject: "container engine", Verdict: OK}
	}
	found := e.Program
	if e.Rootless {
		found += ", rootless"
	}
	return check("container engine", found,
		rule{len(e.Missing) > 0, Warning, fmt.Sprintf("%s may not use the cgroup controller %s, so kind can't make nodes", found, strings.Join(e.Missing, " nor ")), delegate})
}
