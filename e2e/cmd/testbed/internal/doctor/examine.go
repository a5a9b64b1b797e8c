package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"go/version"
	"net"
	"slices"
	"strings"

	"github.com/example/operator-testbed/e2e/sdk"
)

// Verdict is how grave a finding is.
type Verdict string

const (
	// OK needs nothing.
	OK Verdict = "ok"
	// Warning may hurt later, or slows things down.
	Warning Verdict = "warning"
	// Lacking means that the testbed can't work.
	Lacking Verdict = "lacking"
)

// Finding is the judgement on one thing.
type Finding struct {
	// Subject is what was looked at, in a word or two.
	Subject string
	Verdict Verdict
	// Found is what was seen.
	Found string
	// Fix is the command that fixes it; empty when the verdict is OK.
	Fix string
}

// What the testbed needs. The figures for building are the peaks of a cold build
// of Kubernetes on 4 cores, rounded up.
const (
	minimumGo = "go1.26"

	gib                = 1 << 30
	mib                = 1 << 20
	memoryToBuild      = 5 * gib
	memoryToRun        = 1 * gib
	goBuildToBuild     = 5 * gib
	goBuildToRun       = 1 * gib
	goModulesToBuild   = 2 * gib
	cacheToBuild       = 1 * gib
	tempToBuild        = 1 * gib
	stateToRun         = 512 * mib // one cluster: etcd preallocates 123 MiB, then logs
	openFilesToRun     = 4096
	inotifyInstances   = 128
	inotifyWatches     = 8192
	inotifyInstancesUp = 512
	inotifyWatchesUp   = 65536
)

// rule is a verdict, and whether it applies.
type rule struct {
	applies    bool
	verdict    Verdict
	found, fix string
}

// check returns the finding of the first rule that applies. If none does, the subject is OK as it was found.
func check(subject, found string, rules ...rule) Finding {
	for _, r := range rules {
		if r.applies {
			return Finding{subject, r.verdict, r.found, r.fix}
		}
	}
	return Finding{subject, OK, found, ""}
}

// Examine judges the facts: the tools, the directories, the machine, the network.
func Examine(f Facts) []Finding {
	building := uint64(1) // a factor of what only the build of Kubernetes needs
	if f.KubernetesBuilt {
		building = 0
	}
	release, _, _ := strings.Cut(f.Go.Version, " ") // "go1.26.8 X:nodwarf5" names an experiment
	memory, openFiles := size(f.MemoryAvailable)+" available", fmt.Sprintf("%d for a process", f.OpenFiles)
	findings := []Finding{
		check("Go", f.Go.Version,
			rule{f.Go.Path == "", Lacking, "not on PATH", "install Go 1.26 or newer from https://go.dev/dl and put its bin directory on PATH"},
			rule{version.Compare(release, minimumGo) < 0, Lacking, f.Go.Version + " is too old: Go 1.26 or newer is needed",
				"install it from https://go.dev/dl, or let Go fetch it: go env -w GOTOOLCHAIN=auto"}),
		checkTool(f, "make", f.Make),
		checkTool(f, "git", f.Git),
		checkGoSettings(f.GoSettings),
		// A read-only cache may be one that a classroom shares, which is good when Kubernetes is in it.
		checkDirectory("cache", f.Cache, cacheToBuild, elsewhere,
			rule{f.KubernetesBuilt && f.Cache.Writable, OK, f.Cache.Path + ", Kubernetes is " + made(f.KubernetesFrom), ""},
			rule{f.KubernetesBuilt, OK, f.Cache.Path + ", Kubernetes is " + made(f.KubernetesFrom) + ", read-only", ""},
			rule{!f.Cache.Writable, Lacking, f.Cache.Path + " is read-only and holds no Kubernetes", elsewhere + ", or ask its owner to run make up once"}),
		checkDirectory("state", f.State, stateToRun, `export TESTBED_STATE="$HOME/.testbed-state" (any directory of yours with a short path)`),
		checkDirectory("TMPDIR", f.Temp, building*tempToBuild, "export TMPDIR=/another/directory",
			rule{f.Temp.Missing, Lacking, f.Temp.Path + " is not there, and programs expect it", "mkdir -p " + f.Temp.Path + ", or: unset TMPDIR"}),
		checkDirectory("GOCACHE", f.GoBuild, max(goBuildToRun, building*goBuildToBuild), "go clean -cache, or: go env -w GOCACHE=/another/directory"),
		checkDirectory("GOMODCACHE", f.GoModules, building*goModulesToBuild, "go env -w GOMODCACHE=/another/directory"),
		check("memory", memory,
			rule{f.MemoryAvailable == 0, OK, "not known", ""},
			rule{f.MemoryAvailable < memoryToRun, Lacking, memory + "; a cluster needs about 600 MiB and tests need some too",
				"end other programs, or use a machine with 4 GiB"},
			rule{f.MemoryAvailable < building*memoryToBuild, Warning, memory + "; building Kubernetes peaks at " + size(memoryToBuild) + " on 4 cores",
				"GOMAXPROCS=1 make up (slower, and fewer compilers at once)"}),
		check("open files", openFiles,
			rule{f.OpenFiles == 0, OK, "not known", ""},
			rule{f.OpenFiles < openFilesToRun, Warning, fmt.Sprintf("%s; kube-apiserver can need %d", openFiles, openFilesToRun),
				fmt.Sprintf("raise the hard limit: echo '* hard nofile %d' | sudo tee -a /etc/security/limits.conf, then log in again", openFilesToRun)}),
		checkInotify("inotify instances", "fs.inotify.max_user_instances", f.InotifyInstances, inotifyInstances, inotifyInstancesUp),
		checkInotify("inotify watches", "fs.inotify.max_user_watches", f.InotifyWatches, inotifyWatches, inotifyWatchesUp),
		check("loopback", "127.0.0.1 answers, localhost stands for it",
			rule{f.Loopback != nil, Lacking, fmt.Sprint(f.Loopback), "sudo ip link set lo up, and let no firewall block 127.0.0.1"},
			rule{!slices.ContainsFunc(f.Localhost, isLoopback), Lacking, "the name localhost does not stand for 127.0.0.1",
				"echo '127.0.0.1 localhost' | sudo tee -a /etc/hosts"}),
	}
	findings = append(findings, checkEngine(f.Engine), checkSDK(f.SDK), checkAnsible(f.Ansible))
	if p := f.Proxy; p != nil {
		findings = append(findings, check("GOPROXY", fmt.Sprintf("%s answered in %d ms", p.URL, p.Took.Milliseconds()),
			rule{p.URL == "", Warning, fmt.Sprintf("%q names no proxy to try", p.Setting), "go env -w GOPROXY=https://proxy.golang.org,direct"},
			rule{p.Err != nil, Lacking, fmt.Sprint(p.Err), "check the network and HTTPS_PROXY, or name a proxy you can reach: go env -w GOPROXY=https://host"}))
	}
	// A subject that is fine unless there is something to say, or that this system does not have, has nothing to show.
	return slices.DeleteFunc(findings, func(f Finding) bool { return f.Found == "" })
}

// made says how Kubernetes got into the cache.
func made(from string) string {
	if from == "" {
		return "compiled"
	}
	return "downloaded from " + from
}

// elsewhere moves the cache.
const elsewhere = `export TESTBED_CACHE="$HOME/.testbed-cache"`

func checkTool(f Facts, name string, tool Tool) Finding {
	install := map[string]string{
		"xcode-select": "xcode-select --install",
		"apt-get":      "sudo apt-get install -y " + name,
		"dnf":          "sudo dnf install -y " + name,
		"apk":          "sudo apk add " + name,
		"pacman":       "sudo pacman -S " + name,
		"zypper":       "sudo zypper install " + name,
	}[f.PackageManager]
	return check(name, cmp.Or(tool.Version, tool.Path),
		rule{tool.Path == "", Lacking, "not on PATH", cmp.Or(install, "install "+name+" with this system's package manager")})
}

// checkGoSettings names the settings that the testbed replaces, because a Go command that is typed in its directories obeys them.
func checkGoSettings(settings []GoSetting) Finding {
	var found, fix []string
	for _, s := range settings {
		found = append(found, s.Name+"="+s.Value)
		switch {
		case s.Name == "GOWORK":
			fix = append(fix, "export GOWORK=off")
		case s.Written:
			fix = append(fix, "go env -u "+s.Name)
		default:
			fix = append(fix, "unset "+s.Name)
		}
	}
	return check("Go settings", "",
		rule{len(settings) > 0, Warning, strings.Join(found, ", ") + ": make is not affected, but a go command that you type in this repository or in a copy is",
			"where you type go commands: " + strings.Join(fix, "; ")})
}

// checkDirectory checks a directory by the rules, then whether it can be written to and has room.
func checkDirectory(subject string, directory Directory, need uint64, fix string, rules ...rule) Finding {
	found := fmt.Sprintf("%s, %s free", directory.Path, size(directory.Free))
	return check(subject, found, append(rules,
		rule{!directory.Writable, Lacking, directory.Path + " can't be written to", fix},
		rule{directory.Free < need, Lacking, fmt.Sprintf("%s, and up to %s are needed", found, size(need)), fix})...)
}

// checkSDK says whether Operator SDK is built. Few users need it, so only one that is out of date is worth a warning.
func checkSDK(err error) Finding {
	return check("Operator SDK", "make sdk has built it",
		rule{errors.Is(err, sdk.ErrNotBuilt), OK, "not built, and only docs/bundle.md and tutorial/18-operator-sdk need it: make sdk builds it", ""},
		rule{err != nil, Warning, fmt.Sprint(err), "make sdk"})
}

// checkAnsible says whether the packages that ansible-operator needs are installed. A machine without them lacks nothing that most users
// need.
func checkAnsible(err error) Finding {
	return check("Ansible", "ansible-operator can run roles",
		rule{err != nil, OK, fmt.Sprintf("only tutorial/18-operator-sdk/ansible needs it: %v", err), ""})
}

func checkInotify(subject, sysctl string, limit, least, better uint64) Finding {
	found := fmt.Sprintf("%d for a user", limit)
	return check(subject, found,
		rule{limit == 0, OK, "", ""}, // not Linux
		rule{limit < least, Warning, found + "; several clusters at once need more", fmt.Sprintf("sudo sysctl %s=%d", sysctl, better)})
}

func isLoopback(address string) bool { return net.ParseIP(address).IsLoopback() }

// size is a number of bytes for a person.
func size(bytes uint64) string {
	if bytes < gib {
		return fmt.Sprintf("%d MiB", bytes/mib)
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/gib)
}
