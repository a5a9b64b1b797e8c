package doctor

import (
	"fmt"
	"go/version"
	"net/netip"
	"slices"
	"strings"
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
	// Mend is the command that puts it right; empty when the verdict is OK.
	Mend string
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

// Examine judges the facts: the tools, the folders, the machine, the network.
func Examine(f Facts) []Finding {
	findings := []Finding{
		examineGo(f),
		examineTool(f, "make", f.Make),
		examineTool(f, "git", f.Git),
	}
	if f.Target != f.Host {
		findings = append(findings, Finding{"Go's target", Lacking,
			fmt.Sprintf("go builds for %s and this machine is %s, so what it builds can't run", f.Target, f.Host),
			"unset GOOS GOARCH; go env -u GOOS; go env -u GOARCH"})
	}
	findings = append(findings, examineFolders(f)...)
	findings = append(findings, examineMemory(f), examineOpenFiles(f))
	if f.InotifyInstances > 0 || f.InotifyWatches > 0 {
		findings = append(findings,
			examineInotify("inotify instances", "fs.inotify.max_user_instances", f.InotifyInstances, inotifyInstances, inotifyInstancesUp),
			examineInotify("inotify watches", "fs.inotify.max_user_watches", f.InotifyWatches, inotifyWatches, inotifyWatchesUp))
	}
	findings = append(findings, examineLoopback(f))
	if f.Proxy != nil {
		findings = append(findings, examineProxy(*f.Proxy))
	}
	return findings
}

func examineGo(f Facts) Finding {
	if f.Go.Path == "" {
		return Finding{"Go", Lacking, "not on PATH", "install Go 1.26 or newer from https://go.dev/dl and put its bin folder on PATH"}
	}
	release, _, _ := strings.Cut(f.Go.Version, " ") // "go1.26.8 X:nodwarf5" names an experiment
	if version.Compare(release, minimumGo) < 0 {
		return Finding{"Go", Lacking, f.Go.Version + " is too old: Go 1.26 or newer is needed",
			"install it from https://go.dev/dl, or let Go fetch it: go env -w GOTOOLCHAIN=auto"}
	}
	return Finding{"Go", OK, f.Go.Version, ""}
}

func examineTool(f Facts, name string, tool Tool) Finding {
	if tool.Path != "" {
		return Finding{name, OK, tool.Version, ""}
	}
	mend := map[string]string{
		"apt-get": "sudo apt-get install -y " + name,
		"dnf":     "sudo dnf install -y " + name,
		"apk":     "sudo apk add " + name,
		"pacman":  "sudo pacman -S " + name,
		"zypper":  "sudo zypper install " + name,
	}[f.PackageManager]
	switch {
	case f.OS == "darwin":
		mend = "xcode-select --install"
	case mend == "":
		mend = "install " + name + " with this system's package manager"
	}
	return Finding{name, Lacking, "not on PATH", mend}
}

func examineFolders(f Facts) []Finding {
	findings := []Finding{examineCache(f)}
	need := func(built, unbuilt uint64) uint64 {
		if f.KubernetesBuilt {
			return built
		}
		return unbuilt
	}
	return append(findings,
		examineFolder("state", f.State, stateToRun, `export TESTBED_STATE="$HOME/.testbed-state" (any folder of yours with a short path)`),
		examineFolder("TMPDIR", f.Temp, need(0, tempToBuild), "export TMPDIR=/another/folder"),
		examineFolder("GOCACHE", f.GoBuild, need(goBuildToRun, goBuildToBuild), "go clean -cache, or: go env -w GOCACHE=/another/folder"),
		examineFolder("GOMODCACHE", f.GoModules, need(0, goModulesToBuild), "go env -w GOMODCACHE=/another/folder"),
	)
}

// examineCache treats a read-only cache as what it is: a classroom's shared one,
// good when Kubernetes is in it.
func examineCache(f Facts) Finding {
	const elsewhere = `export TESTBED_CACHE="$HOME/.testbed-cache"`
	if f.KubernetesBuilt {
		found := f.Cache.Path + ", Kubernetes is built"
		if !f.Cache.Writable {
			found += ", read-only"
		}
		return Finding{"cache", OK, found, ""}
	}
	if !f.Cache.Writable {
		return Finding{"cache", Lacking, f.Cache.Path + " is read-only and holds no Kubernetes",
			elsewhere + ", or ask its owner to run make up once"}
	}
	return examineFolder("cache", f.Cache, cacheToBuild, elsewhere)
}

func examineFolder(subject string, folder Folder, need uint64, mend string) Finding {
	if !folder.Writable {
		return Finding{subject, Lacking, folder.Path + " can't be written to", mend}
	}
	found := fmt.Sprintf("%s, %s free", folder.Path, size(folder.Free))
	if folder.Free < need {
		return Finding{subject, Lacking, fmt.Sprintf("%s, and up to %s are needed", found, size(need)), mend}
	}
	return Finding{subject, OK, found, ""}
}

func examineMemory(f Facts) Finding {
	found := size(f.MemoryAvailable) + " available"
	switch {
	case f.MemoryAvailable == 0:
		return Finding{"memory", OK, "not known", ""}
	case f.MemoryAvailable < memoryToRun:
		return Finding{"memory", Lacking, found + "; a cluster needs about 600 MiB and tests need some too",
			"end other programs, or use a machine with 4 GiB"}
	case f.MemoryAvailable < memoryToBuild && !f.KubernetesBuilt:
		return Finding{"memory", Warning, found + "; building Kubernetes peaks at " + size(memoryToBuild) + " on 4 cores",
			"GOMAXPROCS=1 make up (slower, and fewer compilers at once)"}
	}
	return Finding{"memory", OK, found, ""}
}

func examineOpenFiles(f Facts) Finding {
	found := fmt.Sprintf("%d for a process", f.OpenFiles)
	switch {
	case f.OpenFiles == 0:
		return Finding{"open files", OK, "not known", ""}
	case f.OpenFiles < openFilesToRun:
		return Finding{"open files", Warning, fmt.Sprintf("%s; kube-apiserver can need %d", found, openFilesToRun),
			fmt.Sprintf("raise the hard limit: echo '* hard nofile %d' | sudo tee -a /etc/security/limits.conf, then log in again", openFilesToRun)}
	}
	return Finding{"open files", OK, found, ""}
}

func examineInotify(subject, sysctl string, limit, least, better uint64) Finding {
	if limit < least {
		return Finding{subject, Warning, fmt.Sprintf("%d for a user; several clusters at once need more", limit),
			fmt.Sprintf("sudo sysctl %s=%d", sysctl, better)}
	}
	return Finding{subject, OK, fmt.Sprintf("%d for a user", limit), ""}
}

func examineLoopback(f Facts) Finding {
	if f.Loopback != nil {
		return Finding{"loopback", Lacking, f.Loopback.Error(), "sudo ip link set lo up, and let no firewall block 127.0.0.1"}
	}
	loopback := func(address string) bool {
		ip, err := netip.ParseAddr(address)
		return err == nil && ip.IsLoopback()
	}
	if !slices.ContainsFunc(f.Localhost, loopback) {
		return Finding{"loopback", Lacking, "the name localhost does not stand for 127.0.0.1", "echo '127.0.0.1 localhost' | sudo tee -a /etc/hosts"}
	}
	return Finding{"loopback", OK, "127.0.0.1 answers, localhost stands for it", ""}
}

func examineProxy(p Proxy) Finding {
	switch {
	case p.URL == "":
		return Finding{"GOPROXY", Warning, fmt.Sprintf("%q names no proxy to try", p.Setting), "go env -w GOPROXY=https://proxy.golang.org,direct"}
	case p.Err != nil:
		return Finding{"GOPROXY", Lacking, p.Err.Error(),
			"check the network and HTTPS_PROXY, or name a proxy you can reach: go env -w GOPROXY=https://host"}
	}
	return Finding{"GOPROXY", OK, fmt.Sprintf("%s answered in %d ms", p.URL, p.Took.Milliseconds()), ""}
}

// size is a number of bytes for a person.
func size(bytes uint64) string {
	if bytes < gib {
		return fmt.Sprintf("%d MiB", bytes/mib)
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/gib)
}
