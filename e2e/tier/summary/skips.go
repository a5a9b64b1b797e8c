package summary

import (
	"path"
	"slices"
	"strings"
)

// Allowance lets tests be skipped without another tier that runs them.
type Allowance struct {
	// Package is the directory of the tests' package, relative to the repository. It may be a pattern of package path.
	Package string
	// Test is a test function; empty means any of the package.
	Test string
	// Reason is in what the test prints; empty means anything.
	Reason string
	// Why says why nothing is lost.
	Why string
}

const (
	parts    = "it holds parts of another test, which runs them in its own process"
	machine  = "the machine can't do it; .ci/run and the workflows run where it can"
	system   = "it is about another operating system than this"
	variants = "the combination does not exist"
	onKind   = "an embedded cluster shows it, in make test"
	packages = "Ansible is not part of the testbed; what runs it is skipped where Debian's packages are not installed"
	request  = "compiling Operator SDK takes minutes, so make sdk builds it on request"
)

// allowed are the skips that are not about tiers, and are not failures either.
var allowed = []Allowance{
	{Package: "e2e/tier", Test: "TestMarked", Why: parts},
	{Package: "e2e/framework", Test: "TestLabeled", Why: parts},
	{Package: "e2e/framework", Test: "TestReported", Why: parts},
	{Package: "e2e/framework", Test: "TestSelected", Why: parts},
	{Package: "e2e/framework", Test: "TestReaching", Why: parts},
	{Package: "e2e/cluster/supervisor", Test: "TestOfAForgetfulProgram", Why: parts},

	{Package: "operator/internal/controller", Reason: "a Deployment that another object controls is that object's", Why: variants},
	{Package: "operator/internal/controller", Reason: "the API server does not allow this change", Why: variants},
	{Package: "operator/internal/controller", Reason: "the API server puts it back as a default", Why: variants},
	{Package: "tutorial/internal/grade/grading", Test: "TestHostile", Reason: "another chapter was chosen", Why: "each part of a run takes some chapters"},

	{Package: "tutorial", Test: "TestChapterCommands", Why: "the page says why nothing runs this block, and docs limits their number"},
	{Package: "tutorial", Test: "TestTextOnKind", Why: "the page says why nothing runs this block, and docs limits their number"},
	{Package: "tutorial", Test: "TestTextInOrder", Why: "the page says why nothing runs this block, and docs limits their number"},
	{Package: "docs", Test: "TestCommands", Why: "the page says why nothing runs this block, and docs limits their number"},
	{Package: "docs", Test: "TestCommandsOnKind", Why: "the page says why nothing runs this block, and docs limits their number"},

	{Package: "tutorial/06-watches/test/e2e", Reason: "real nodes may have other work to do", Why: onKind},
	{Package: "tutorial/11-admission/test/e2e", Reason: "need a certificate that they get on an embedded cluster only", Why: onKind},
	{Package: "tutorial/12-certificates/test/e2e", Reason: "can't call webhooks of a process on this machine", Why: onKind},
	{Package: "tutorial/00-control-loop/test/e2e", Test: "TestJob", Reason: "docker.io/library/busybox", Why: machine},
	{Package: "e2e/memcached", Test: "TestNetworkPolicy", Reason: "the network of this cluster enforces no NetworkPolicy", Why: machine},

	{Package: "e2e/sdk", Reason: "make sdk", Why: request},
	{Package: "tutorial/18-operator-sdk/test/twins", Reason: "make sdk", Why: request},
	{Package: "tutorial/18-operator-sdk/test/onkind", Reason: "make sdk", Why: request},
	{Package: "tutorial/18-operator-sdk/test/twins", Reason: "Ansible is incomplete", Why: packages},
	{Package: "tutorial/18-operator-sdk/test/twins", Test: "TestImages", Reason: "there is no mmdebstrap", Why: packages},
	{Package: "tutorial/18-operator-sdk/test/onkind", Reason: "there is no mmdebstrap", Why: packages},

	{Package: "e2e/host/bundle", Reason: "macOS trusts what its keychain has", Why: system},
	{Package: "docs", Test: "TestReleasePublishes", Reason: "this machine has no sha256sum", Why: system},
	{Package: "e2e/conformance/image", Reason: "images hold programs of Linux", Why: system},
	{Package: "e2e/conformance/image", Reason: "no ELF machine for the architecture", Why: system},
	{Package: "tutorial/internal/isolation/endtoend", Reason: "walls are for Linux", Why: system},
	{Package: "tutorial/internal/submission", Reason: "this system's directories can't hold", Why: system},

	{Package: "e2e/host/home", Reason: "only root can give a directory to another user", Why: machine},
	{Package: "tutorial/internal/isolation/endtoend", Reason: "only root can become another user", Why: machine},
	{Package: "tutorial/internal/isolation", Reason: "only root can become another user", Why: machine},
	{Package: "tutorial/internal/isolation", Reason: "this machine can build no cell", Why: machine},
	{Package: "tutorial/internal/isolation", Reason: "no operator can be confined here", Why: machine},
	{Package: "tutorial/internal/isolation", Test: "TestContainer", Reason: "there is no container engine", Why: machine},
	{Package: "tutorial/internal/class", Test: "TestFullDiskWhileCollecting", Why: machine},
	{Package: "tutorial/internal/grade/classroom", Test: "TestFullDiskWhileGrading", Why: machine},
	{Package: "tutorial/internal/grade/build", Reason: "there is no cell", Why: machine},
	{Package: "tutorial/lab", Reason: "this user may not make namespaces", Why: machine},
	{Package: "e2e/confinement", Test: "TestCommandLine", Why: machine},
	{Package: "e2e/framework", Test: "TestExecute", Why: machine},
	{Package: "e2e/framework/runner", Test: "TestConfinedProcess", Why: machine},
	{Package: "e2e/conformance", Test: "TestSamples", Why: machine},
	{Package: "tutorial/browser", Reason: "install chromium to test what pages show", Why: "the pages are tested where Chromium is, and with CI=true the test fails"},
	{Package: "tutorial/browser", Reason: "is not in the cache, and can't be fetched", Why: "the pages are tested where the npm registry can be reached, and with CI=true the test fails"},
}

// Allowances returns the list of skips that are not failures.
func Allowances() []Allowance { return slices.Clone(allowed) }

// Unexpected returns the tests that were skipped although they do not belong to another tier, and no list allows that. They are
// failures, because otherwise a test that no longer proves anything would go unnoticed.
func (r Run) Unexpected() []Skip {
	var unexpected []Skip
	for _, s := range r.skips {
		if s.Tier == "" && !slices.ContainsFunc(allowed, s.isAllowedBy) {
			unexpected = append(unexpected, s)
		}
	}
	return unexpected
}

func (s Skip) isAllowedBy(a Allowance) bool {
	function, _, _ := strings.Cut(s.Test, "/")
	inPackage, err := path.Match(a.Package, s.Package)
	return err == nil && inPackage && (a.Test == "" || a.Test == function) && strings.Contains(s.Reason, a.Reason)
}
