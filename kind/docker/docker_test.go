package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestDecide(t *testing.T) {
	bare := machine{os: "linux", root: true, debian: true, absent: packages, missing: []string{"CAP_SYS_RESOURCE"}}
	for name, c := range map[string]struct {
		change  func(*machine)
		nothing string
		refused string
	}{
		"a bare machine":          {change: func(*machine) {}},
		"an engine":               {func(m *machine) { m.engine = "28.0" }, "Docker 28.0 answers already", ""},
		"an engine, not root":     {func(m *machine) { m.engine, m.root, m.os = "28.0", false, "darwin" }, "Docker 28.0 answers already", ""},
		"our engine":              {func(m *machine) { m.engine, m.ours = "20.10", 7 }, "started by make docker-up", ""},
		"an engine of others":     {func(m *machine) { m.refusal = "dial unix /var/run/docker.sock: permission denied" }, "", "you may not use it"},
		"not root":                {func(m *machine) { m.root = false }, "", "it must be root"},
		"another Linux":           {func(m *machine) { m.debian = false }, "", "Debian and Ubuntu only"},
		"macOS":                   {func(m *machine) { m.os, m.debian = "darwin", false }, "", "this is darwin"},
		"a service that is down":  {func(m *machine) { m.systemd, m.absent = true, nil }, "", "systemctl start docker"},
		"our engine, not healthy": {func(m *machine) { m.ours, m.absent = 7, nil }, "", "process 7"},
	} {
		t.Run(name, func(t *testing.T) {
			m := bare
			c.change(&m)
			todo, err := decide(m)
			switch {
			case c.refused != "":
				if err == nil || !strings.Contains(err.Error(), c.refused) || strings.Contains(err.Error(), "\n") {
					t.Errorf("got %v, expected a sentence with %q", err, c.refused)
				}
			case err != nil:
				t.Error(err)
			case c.nothing != "" && !strings.Contains(todo.nothing, c.nothing):
				t.Errorf("got %q, expected %q", todo.nothing, c.nothing)
			case c.nothing == "" && (todo.nothing != "" || !slices.Equal(todo.install, packages)):
				t.Errorf("got %+v, expected to install %q", todo, packages)
			}
		})
	}
}

func TestEverythingIsDescribed(t *testing.T) {
	said := todo{install: packages, missing: []string{"CAP_SYS_RESOURCE"}}.describe("/state/docker")
	for _, want := range append(slices.Clone(packages), "/state/docker", "CAP_SYS_RESOURCE", "iptables rules", "make docker-down") {
		if !strings.Contains(said, want) {
			t.Errorf("the description has no %s:\n%s", want, said)
		}
	}
}

func TestSpecFile(t *testing.T) {
	for line, want := range map[string]string{
		"--root /r --log /l create --bundle /b --pid-file /p id": "/b/config.json",
		"run -b /b id":                   "/b/config.json",
		"create --bundle=/b id":          "/b/config.json",
		"create id":                      "config.json",
		"exec --process /s -d id":        "/s",
		"exec --process=/s id":           "/s",
		"--root /r delete --force id":    "",
		"--root /r kill id 9":            "",
		"--root /r state --format x y z": "",
	} {
		if got := specFile(strings.Fields(line)); got != want {
			t.Errorf("%s: got %q, expected %q", line, got, want)
		}
	}
}

func TestCapabilitiesAreRemoved(t *testing.T) {
	for name, spec := range map[string]string{
		"container": `{"linux": {"resources": {"memory": {"limit": 9223372036854775807}}}, "process": {"capabilities": {"bounding": ["CAP_KILL", "CAP_SYS_RESOURCE"], "effective": ["CAP_SYS_RESOURCE"]}}}`,
		"process":   `{"limit": 9223372036854775807, "capabilities": {"bounding": ["CAP_KILL", "CAP_SYS_RESOURCE"], "effective": []}}`,
	} {
		got, err := withoutCapabilities([]byte(spec), []string{"CAP_SYS_RESOURCE"})
		if err != nil {
			t.Fatal(err)
		}
		if text := string(got); strings.Contains(text, "SYS_RESOURCE") || !strings.Contains(text, "CAP_KILL") || !strings.Contains(text, "9223372036854775807") || !json.Valid(got) {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

const rules = `*nat
:PREROUTING ACCEPT [0:0]
:DOCKER - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
-A POSTROUTING -s 172.18.0.0/16 ! -o br-0123456789ab -j MASQUERADE
-A POSTROUTING -s 10.0.0.0/8 -j MASQUERADE
COMMIT
*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
:OUTPUT ACCEPT [0:0]
:DOCKER - [0:0]
:DOCKER-ISOLATION-STAGE-1 - [0:0]
-A INPUT -i lo -j ACCEPT
-A FORWARD -j DOCKER-USER
-A FORWARD -i docker0 -o docker0 -j ACCEPT
-A DOCKER-USER -j RETURN
COMMIT
`

func TestRulesWithoutDockers(t *testing.T) {
	want := `*nat
:PREROUTING ACCEPT [0:0]
-A POSTROUTING -s 10.0.0.0/8 -j MASQUERADE
COMMIT
*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
:OUTPUT ACCEPT [0:0]
-A INPUT -i lo -j ACCEPT
COMMIT
`
	if got := withoutDocker(strings.TrimSpace(rules)); got != want {
		t.Errorf("got\n%s\nexpected\n%s", got, want)
	}
}

func TestOnlyMountsBelowTheDirectoryAreUnmounted(t *testing.T) {
	table := `22 1 0:20 / /sys/fs/cgroup ro - tmpfs none ro
30 1 0:21 / /state/docker/data/overlay2/x/merged rw - overlay none rw
31 1 0:22 / /state/docker-of-others/x rw - overlay none rw
`
	if got := mountPoints(table, "/state/docker"); !slices.Equal(got, []string{"/state/docker/data/overlay2/x/merged"}) {
		t.Errorf("got %q", got)
	}
}

// Without a terminal, the setting that answers has to be on make's command line: make does not pass on one of the environment.
func TestConsentWithoutATerminal(t *testing.T) {
	t.Setenv("YES", "")
	t.Setenv("CI", "")
	empty, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	stdin := os.Stdin
	os.Stdin = empty
	t.Cleanup(func() { os.Stdin = stdin })
	const want = "there was no answer, so nothing was changed: add YES=1 to make's command line to agree"
	if err := consent(); err == nil || err.Error() != want {
		t.Errorf("got %v, expected %q", err, want)
	}
}
