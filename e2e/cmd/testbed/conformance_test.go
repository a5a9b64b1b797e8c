package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/cluster/kind/kindtest"
	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/operator"
	"github.com/example/operator-testbed/e2e/conformance/image/imagetest"
	"github.com/example/operator-testbed/e2e/executable"
	"github.com/example/operator-testbed/e2e/host/home"
	"github.com/example/operator-testbed/e2e/tier"
)

// The error about an operator that exits early names its log, which outlives the cluster. Nothing else is left.
func TestConformanceOfAnOperatorThatExits(t *testing.T) {
	tier.All(t)
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t)
	temporary := t.TempDir()
	command := b.command("testbed", "conformance", "--operator=/bin/true", "--unconfined")
	command.Env = append(command.Env, "TESTBED_ARTIFACTS=", home.TemporaryVariable+"=", "TMPDIR="+temporary)
	out, err := command.CombinedOutput()
	g.Expect(err).To(HaveOccurred())
	match := regexp.MustCompile(`exited before it was ready: it printed nothing \(log: ([^)]+)\)`).FindSubmatch(out)
	g.Expect(match).NotTo(BeNil(), "%s", out)
	g.Expect(string(match[1])).To(HavePrefix(temporary+"/testbed-artifacts-"), "%s", out)
	g.Expect(string(match[1])).To(BeAnExistingFile(), "%s", out)
	entries, err := os.ReadDir(temporary)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(entries).To(HaveLen(1))
}

// An operator that can't start usually exits with an error. What to do about it comes first. The operators here are scripts that print what
// a client prints, in a color that does not reach the terminal.
func TestConformanceAdvises(t *testing.T) {
	tier.All(t)
	for _, tc := range []struct{ name, printed, advice string }{
		{
			"a missing kind", `{"level":"error","error":"no matches for kind \"Certificate\" in version \"cert-manager.io/v1\""}`,
			"the operator needs Certificate of cert-manager.io/v1, which no CustomResourceDefinition defines: name its file with crds or --crds.",
		},
		{
			"only in pods", "panic: " + rest.ErrNotInCluster.Error(),
			"the operator looks for the API server only where pods find it, but it runs as a process: let it read the file that KUBECONFIG names, as controller-runtime does.",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b := newBed(t)
			script := filepath.Join(t.TempDir(), "manager")
			g.Expect(executable.Write(script, []byte("#!/bin/sh\necho '\x1b[31m"+tc.printed+"'\nexit 1\n"), 0o700)).To(Succeed())
			out, err := b.command("testbed", "conformance", "--operator="+script, "--unconfined").CombinedOutput()
			g.Expect(err).To(HaveOccurred())
			g.Expect(string(out)).To(MatchRegexp(`(?m)^testbed: no object is served, so no point was tried: ` + regexp.QuoteMeta(tc.advice) + `$`))
			g.Expect(string(out)).To(And(ContainSubstring(`\x1b[31m`), Not(ContainSubstring("\x1b"))))
		})
	}
}

// The operator of this repository runs in a pod of a kind cluster, with the certificate that its manifests expect from cert-manager. All
// points hold there, too, except for those that need a process or an earlier version.
func TestConformanceInAPod(t *testing.T) {
	tier.Nightly(t)
	tier.NeedsKind(t)
	g := NewWithT(t)
	root, err := cluster.Root(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	built, err := operator.Build(t.Context(), root, operator.Finished)
	g.Expect(err).NotTo(HaveOccurred())
	program, err := os.ReadFile(built.Binary)
	g.Expect(err).NotTo(HaveOccurred())
	image := imagetest.FromScratch(t, runtime.GOARCH, v1.Config{Entrypoint: []string{"/manager"}}, map[string][]byte{"manager": program})
	const memcached = "docker.io/library/memcached:of-the-test"
	b := bed{t: t, root: root, state: filepath.Join(t.TempDir(), "state")}
	report := filepath.Join(t.TempDir(), "report.txt")
	t.Cleanup(func() {
		if content, err := os.ReadFile(report); err == nil && t.Failed() {
			t.Logf("%s", content)
		}
	})
	command := b.command("testbed", "conformance", "--cluster=kind", "--all", "--markdown", "--report="+report,
		"--operator="+imagetest.Archive(t, map[string]v1.Image{"operator:1": image}), "--load="+kindtest.MemcachedArchive(t, memcached),
		"--env=MEMCACHED_IMAGE="+memcached, "--manifests=operator/config/default-cert-manager", "--sample=operator/config/samples/cache_v1alpha1_memcached.yaml")
	command.Stderr = t.Output() // which shows that it makes progress
	out, err := command.Output()
	g.Expect(err).NotTo(HaveOccurred(), "%s", out)
	got := outcomes(string(out))
	g.Expect(got).To(HaveKeyWithValue("a crash between two writes leads to the same owned objects", "holds"))
	for claim, outcome := range got {
		if outcome != "holds" {
			g.Expect(claim).To(BeElementOf("watches that fall behind lead to the same owned objects",
				"an upgrade and the way back restart no pod, and lead to few writes", "an object that can't be decoded does not stop the others"))
			g.Expect(outcome).To(Equal("does not apply"), claim)
		}
	}
}
