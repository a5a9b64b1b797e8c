package doctor_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/doctor"
	"github.com/example/operator-testbed/e2e/sdk"
)

const gib = 1 << 30

// sound is a machine that lacks nothing, with an empty cache.
func sound() doctor.Facts {
	directory := func(path string) doctor.Directory {
		return doctor.Directory{Path: path, Free: 50 * gib, Writable: true}
	}
	return doctor.Facts{
		PackageManager:   "apt-get",
		Go:               doctor.Tool{Path: "/usr/local/go/bin/go", Version: "go1.26.8"},
		Make:             doctor.Tool{Path: "/usr/bin/make", Version: "GNU Make 4.3"},
		Git:              doctor.Tool{Path: "/usr/bin/git", Version: "git version 2.39.5"},
		MemoryAvailable:  16 * gib,
		OpenFiles:        1 << 20,
		InotifyInstances: 128,
		InotifyWatches:   65536,
		Localhost:        []string{"::1", "127.0.0.1"},
		Cache:            directory("/home/me/.cache/operator-testbed"),
		State:            directory("/home/me/.local/state/operator-testbed"),
		Temp:             directory("/tmp"),
		GoBuild:          directory("/home/me/.cache/go-build"),
		GoModules:        directory("/home/me/go/pkg/mod"),
	}
}

func TestExamineSoundMachine(t *testing.T) {
	for _, finding := range doctor.Examine(sound()) {
		if finding.Verdict != doctor.OK || finding.Fix != "" {
			t.Errorf("on a sound machine: %+v", finding)
		}
	}
}

func TestExamine(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(*doctor.Facts)
		subject string
		verdict doctor.Verdict
		found   string // part of it
		fix     string // part of it; "" means none at all
	}{
		{"no Go", func(f *doctor.Facts) { f.Go = doctor.Tool{} },
			"Go", doctor.Lacking, "not on PATH", "https://go.dev/dl"},
		{"old Go", func(f *doctor.Facts) { f.Go.Version = "go1.25.11" },
			"Go", doctor.Lacking, "go1.25.11 is too old", "GOTOOLCHAIN=auto"},
		{"newer Go with an experiment", func(f *doctor.Facts) { f.Go.Version = "go1.27rc1 X:nodwarf5" },
			"Go", doctor.OK, "go1.27rc1", ""},
		{"Go that does not say its version", func(f *doctor.Facts) { f.Go.Version = "" },
			"Go", doctor.Lacking, "too old", "https://go.dev/dl"},
		{"no make, Debian", func(f *doctor.Facts) { f.Make = doctor.Tool{} },
			"make", doctor.Lacking, "not on PATH", "sudo apt-get install -y make"},
		{"no git, Fedora", func(f *doctor.Facts) { f.Git, f.PackageManager = doctor.Tool{}, "dnf" },
			"git", doctor.Lacking, "not on PATH", "sudo dnf install -y git"},
		{"no git, macOS", func(f *doctor.Facts) { f.Git, f.PackageManager = doctor.Tool{}, "xcode-select" },
			"git", doctor.Lacking, "not on PATH", "xcode-select --install"},
		{"no git, unknown system", func(f *doctor.Facts) { f.Git, f.PackageManager = doctor.Tool{}, "" },
			"git", doctor.Lacking, "not on PATH", "package manager"},
		{"GOFLAGS is exported", func(f *doctor.Facts) { f.GoSettings = []doctor.GoSetting{{Name: "GOFLAGS", Value: "-mod=vendor"}} },
			"Go settings", doctor.Warning, "GOFLAGS=-mod=vendor: make is not affected, but a go command that you type", "where you type go commands: unset GOFLAGS"},
		{"a go.work, and go env -w", func(f *doctor.Facts) {
			f.GoSettings = []doctor.GoSetting{{Name: "GOOS", Value: "windows", Written: true}, {Name: "GOWORK", Value: "/home/me/go.work"}}
		},
			"Go settings", doctor.Warning, "GOOS=windows, GOWORK=/home/me/go.work: ", "go env -u GOOS; export GOWORK=off"},

		{"cache disk too small", func(f *doctor.Facts) { f.Cache.Free = 300 << 20 },
			"cache", doctor.Lacking, "300 MiB free, and up to 1.0 GiB are needed", "TESTBED_CACHE="},
		{"cache disk full, but all is built", func(f *doctor.Facts) { f.Cache.Free, f.KubernetesBuilt = 0, true },
			"cache", doctor.OK, "Kubernetes is compiled", ""},
		{"downloaded", func(f *doctor.Facts) { f.KubernetesBuilt, f.KubernetesFrom = true, "dl.k8s.io" },
			"cache", doctor.OK, "Kubernetes is downloaded from dl.k8s.io", ""},
		{"shared cache", func(f *doctor.Facts) { f.Cache.Writable, f.KubernetesBuilt = false, true },
			"cache", doctor.OK, "Kubernetes is compiled, read-only", ""},
		{"read-only empty cache", func(f *doctor.Facts) { f.Cache.Writable = false },
			"cache", doctor.Lacking, "read-only and holds no Kubernetes", "TESTBED_CACHE="},
		{"state can't be written", func(f *doctor.Facts) { f.State.Writable = false },
			"state", doctor.Lacking, "can't be written", "TESTBED_STATE="},
		{"state disk full", func(f *doctor.Facts) { f.State.Free = 100 << 20 },
			"state", doctor.Lacking, "100 MiB free, and up to 512 MiB", "TESTBED_STATE="},
		{"TMPDIR is not there", func(f *doctor.Facts) { f.Temp.Missing = true },
			"TMPDIR", doctor.Lacking, "/tmp is not there", "mkdir -p /tmp, or: unset TMPDIR"},
		{"the cache is not there yet", func(f *doctor.Facts) { f.Cache.Missing = true },
			"cache", doctor.OK, "free", ""},
		{"TMPDIR too small to build", func(f *doctor.Facts) { f.Temp.Free = gib / 2 },
			"TMPDIR", doctor.Lacking, "512 MiB free", "TMPDIR="},
		{"TMPDIR too small to build, all is built", func(f *doctor.Facts) { f.Temp.Free, f.KubernetesBuilt = gib/2, true },
			"TMPDIR", doctor.OK, "512 MiB free", ""},
		{"build cache too small to build", func(f *doctor.Facts) { f.GoBuild.Free = 3 * gib },
			"GOCACHE", doctor.Lacking, "3.0 GiB free, and up to 5.0 GiB", "go clean -cache"},
		{"build cache large enough for what is left", func(f *doctor.Facts) { f.GoBuild.Free, f.KubernetesBuilt = 3*gib, true },
			"GOCACHE", doctor.OK, "3.0 GiB free", ""},
		{"no room for modules", func(f *doctor.Facts) { f.GoModules.Free = gib },
			"GOMODCACHE", doctor.Lacking, "1.0 GiB free, and up to 2.0 GiB", "GOMODCACHE="},

		{"memory for a cluster, not for the build", func(f *doctor.Facts) { f.MemoryAvailable = 3 * gib },
			"memory", doctor.Warning, "3.0 GiB available; building Kubernetes peaks at 5.0 GiB", "GOMAXPROCS=1"},
		{"memory for a cluster, and all is built", func(f *doctor.Facts) { f.MemoryAvailable, f.KubernetesBuilt = 3*gib, true },
			"memory", doctor.OK, "3.0 GiB available", ""},
		{"no memory", func(f *doctor.Facts) { f.MemoryAvailable = gib / 2 },
			"memory", doctor.Lacking, "512 MiB available", "4 GiB"},
		{"memory not known", func(f *doctor.Facts) { f.MemoryAvailable = 0 },
			"memory", doctor.OK, "not known", ""},
		{"few open files", func(f *doctor.Facts) { f.OpenFiles = 1024 },
			"open files", doctor.Warning, "1024 for a process", "nofile 4096"},
		{"few inotify instances", func(f *doctor.Facts) { f.InotifyInstances = 16 },
			"inotify instances", doctor.Warning, "16 for a user", "sudo sysctl fs.inotify.max_user_instances=512"},
		{"few inotify watches", func(f *doctor.Facts) { f.InotifyWatches = 100 },
			"inotify watches", doctor.Warning, "100 for a user", "sudo sysctl fs.inotify.max_user_watches=65536"},
		{"loopback is down", func(f *doctor.Facts) { f.Loopback = errors.New("can't listen on 127.0.0.1") },
			"loopback", doctor.Lacking, "can't listen", "ip link set lo up"},
		{"localhost is someone else", func(f *doctor.Facts) { f.Localhost = []string{"192.0.2.1"} },
			"loopback", doctor.Lacking, "localhost does not stand for 127.0.0.1", "/etc/hosts"},

		{"Operator SDK was never built", func(f *doctor.Facts) { f.SDK = sdk.ErrNotBuilt },
			"Operator SDK", doctor.OK, "not built", ""},
		{"Operator SDK is out of date", func(f *doctor.Facts) { f.SDK = errors.New("opm is not there") },
			"Operator SDK", doctor.Warning, "opm is not there", "make sdk"},
		{"no Ansible", func(f *doctor.Facts) { f.Ansible = errors.New("Ansible is incomplete: type this") },
			"Ansible", doctor.OK, "only tutorial/18-operator-sdk/ansible needs it: Ansible is incomplete: type this", ""},

		{"proxy answers", func(f *doctor.Facts) { f.Proxy = &doctor.Proxy{URL: "https://proxy/x", Took: 40 * time.Millisecond} },
			"GOPROXY", doctor.OK, "https://proxy/x answered in 40 ms", ""},
		{"proxy does not answer", func(f *doctor.Facts) { f.Proxy = &doctor.Proxy{URL: "https://proxy/x", Err: errors.New("no route")} },
			"GOPROXY", doctor.Lacking, "no route", "HTTPS_PROXY"},
		{"no proxy set", func(f *doctor.Facts) { f.Proxy = &doctor.Proxy{Setting: "off"} },
			"GOPROXY", doctor.Warning, `"off" names no proxy`, "GOPROXY=https://proxy.golang.org"},
	} {
		t.Run(test.name, func(t *testing.T) {
			facts := sound()
			test.change(&facts)
			var seen bool
			for _, finding := range doctor.Examine(facts) {
				if finding.Subject != test.subject {
					if finding.Verdict != doctor.OK {
						t.Errorf("another finding changed too: %+v", finding)
					}
					continue
				}
				seen = true
				if finding.Verdict != test.verdict {
					t.Errorf("verdict %q, want %q: %+v", finding.Verdict, test.verdict, finding)
				}
				if !strings.Contains(finding.Found, test.found) {
					t.Errorf("found %q, want %q in it", finding.Found, test.found)
				}
				if !strings.Contains(finding.Fix, test.fix) || (test.fix == "") != (finding.Fix == "") {
					t.Errorf("fix %q, want %q in it", finding.Fix, test.fix)
				}
			}
			if !seen {
				t.Errorf("no finding about %s", test.subject)
			}
		})
	}
}

func TestExamineOmitsWhatTheSystemDoesNotHave(t *testing.T) {
	facts := sound()
	facts.InotifyInstances, facts.InotifyWatches = 0, 0 // macOS
	for _, finding := range doctor.Examine(facts) {
		if strings.Contains(finding.Subject, "inotify") || finding.Subject == "GOPROXY" {
			t.Errorf("nobody asked about %+v", finding)
		}
	}
}
