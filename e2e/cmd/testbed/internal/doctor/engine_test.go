package doctor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/doctor"
)

// The engines are scripts that print a part of what Docker 28 and Podman 5 print.
func TestGatherEngine(t *testing.T) {
	for name, test := range map[string]struct {
		program, script string
		found, fix      string // parts of them
		verdict         doctor.Verdict
	}{
		"Docker": {"docker", `echo '{"SecurityOptions":["name=seccomp,profile=builtin"],"MemoryLimit":true,"PidsLimit":true,"CPUShares":true}'`,
			"docker", "", doctor.OK},
		"rootless Docker": {"docker", `echo '{"SecurityOptions":["name=rootless"],"MemoryLimit":true,"PidsLimit":true,"CPUShares":true}'`,
			"docker, rootless", "", doctor.OK},
		"rootless Docker without cpu": {"docker", `echo '{"SecurityOptions":["name=rootless"],"MemoryLimit":true,"PidsLimit":true,"CPUShares":false}'`,
			"docker, rootless may not use the cgroup controller cpu, so kind can't make nodes", "Delegate=cpu cpuset io memory pids", doctor.Warning},
		"rootless Podman without any": {"podman", `echo '{"host":{"cgroupControllers":[],"security":{"rootless":true}}}'`,
			"podman, rootless may not use the cgroup controller cpu nor memory nor pids", "Delegate=", doctor.Warning},
		"Podman as root": {"podman", `echo '{"host":{"cgroupControllers":["memory"],"security":{"rootless":false}}}'`,
			"podman", "", doctor.OK},
		"an engine that does not run": {"docker", `echo 'Cannot connect' >&2; exit 1`,
			"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			bin := t.TempDir()
			if err := os.WriteFile(filepath.Join(bin, test.program), []byte("#!/bin/sh\n"+test.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			t.Setenv("KIND_EXPERIMENTAL_PROVIDER", test.program)
			t.Setenv("TESTBED_CACHE", filepath.Join(bin, "cache"))
			facts, err := doctor.Gather(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			var got doctor.Finding
			for _, finding := range doctor.Examine(facts) {
				if finding.Subject == "container engine" {
					got = finding
				}
			}
			if got.Verdict != test.verdict || !strings.HasPrefix(got.Found, test.found) || !strings.Contains(got.Fix, test.fix) || (test.fix == "") != (got.Fix == "") {
				t.Errorf("the finding is %+v", got)
			}
		})
	}
}
