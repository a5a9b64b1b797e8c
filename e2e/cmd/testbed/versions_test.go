package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/mod/semver"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/supervisor/leftover"
	"github.com/example/operator-testbed/e2e/executable"
	"github.com/example/operator-testbed/e2e/tier"
)

// The features that depend on what kube-apiserver understands: the CustomResourceDefinition, the webhooks with their match conditions
// and certificates, server-side apply, and the policies of a chapter.
const (
	operatorFeatures = "^(TestSize|TestSizeIsValidated|TestRepair|TestDelete|TestRequestedBy|TestDeletionProtection|TestTotalSize|" +
		"TestCertificateRotation|TestMetricsAccess|TestNamespaced)$"
	policyFeatures = "^(TestPolicies|TestSchema)$"
)

// policyVersion is the first version with all policies of the chapter, as its text says.
const policyVersion = "1.36"

// TestOlderKubernetes runs features of the operator's suite on each older version of Kubernetes that kube-apiserver can emulate, and the
// policies of 11-admission on those that have them. These versions, and the tested one itself, are what the chart and its page promise.
func TestOlderKubernetes(t *testing.T) {
	tier.Nightly(t)
	root, err := cluster.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range embedded.EmulatedVersions {
		t.Run(version, func(t *testing.T) {
			b := bed{t: t, root: root, state: filepath.Join(t.TempDir(), "state")}
			t.Setenv("TESTBED_STATE", b.state)
			name := "emulates-" + strings.ReplaceAll(version, ".", "-")
			provider := embedded.NewProvider()
			provider.WithName(name).WithOpts(embedded.WithEmulatedVersion(version))
			if _, err := provider.Create(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := provider.Destroy(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
				leftover.None(t, b.state)
			})
			checkEmulated(t, provider, version)
			b.features(name, operatorFeatures, "./e2e/memcached")
			if version >= policyVersion {
				b.features(name, policyFeatures, "./tutorial/11-admission/test/e2e")
			}
		})
	}
}

// TestPreviousKubernetes runs the same features on a real control plane of the version before, which the commands start.
func TestPreviousKubernetes(t *testing.T) {
	tier.Nightly(t)
	b := newBed(t)
	t.Setenv("TESTBED_STATE", b.state)
	flag := "--kubernetes=" + semver.MajorMinor(embedded.PreviousVersion)
	assets, err := embedded.AssetsOf(t.Context(), embedded.PreviousVersion, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	says := func(want string, arguments ...string) {
		t.Helper()
		if out := b.output("sh", append([]string{"-c", `testbed "$@" 2>&1`, "sh"}, arguments...)...); !strings.Contains(out, want) {
			t.Errorf("testbed %q prints\n%s\nwithout %q", arguments, out, want)
		}
	}
	says("testbed is up: Kubernetes "+embedded.PreviousVersion, "up", flag)
	provider, err := embedded.Attach(embedded.DefaultName)
	if err != nil {
		t.Fatal(err)
	}
	if _, info := serverVersion(t, provider); info.GitVersion != embedded.PreviousVersion {
		t.Fatalf("expected Kubernetes %s, got %s", embedded.PreviousVersion, info.GitVersion)
	}
	says("testbed is up with Kubernetes "+embedded.PreviousVersion+", until make down", "status")
	says("export PATH='"+assets+"':", "env") // no other version is built for kubectl
	out, err := b.command("testbed", "demo", "--kubernetes="+semver.MajorMinor(embedded.Version)).CombinedOutput()
	if want := "is up with Kubernetes " + embedded.PreviousVersion + ", not " + embedded.Version + ": take it down"; err == nil || !strings.Contains(string(out), want) {
		t.Errorf("a demo with another version: %v\n%s\nexpected that the cluster %s", err, out, want)
	}
	says("Available=True", "demo", flag)
	b.features(embedded.DefaultName, operatorFeatures, "./e2e/memcached")
	b.features(embedded.DefaultName, policyFeatures, "./tutorial/11-admission/test/e2e")
	// An operator that reports the API server's version and exits, of which conformance shows the log.
	script := filepath.Join(t.TempDir(), "manager")
	if err := executable.Write(script, []byte("#!/bin/sh\n'"+assets+"/kubectl' version\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, err = b.command("testbed", "conformance", flag, "--operator="+script, "--unconfined").CombinedOutput()
	if want := "Server Version: " + embedded.PreviousVersion; err == nil || !strings.Contains(string(out), want) {
		t.Errorf("conformance of an operator that exits: %v\n%s\nexpected %q", err, out, want)
	}
	says("the cluster runs Kubernetes "+embedded.PreviousVersion, "conformance", flag, "--sample=operator/config/samples/cache_v1alpha1_memcached.yaml",
		"--point=a policy that rewrites an owned object leads to few writes")
}

// features runs features of a suite on an embedded cluster.
func (b bed) features(cluster, pattern, pkg string) {
	b.t.Helper()
	command := b.command("go", "test", "-count=1", "-v", "-run="+pattern, pkg)
	command.Env = append(command.Env, "CLUSTER=embedded", "TESTBED_CLUSTER="+cluster, tier.Variable+"="+string(tier.InTest))
	command.Stdout, command.Stderr = b.t.Output(), b.t.Output() // which shows that it makes progress
	if err := command.Run(); err != nil {
		b.t.Errorf("%s: %v", command, err)
	}
}

// serverVersion returns the version that the API server reports, and a client to ask it for more.
func serverVersion(t *testing.T, provider *embedded.Provider) (*discovery.DiscoveryClient, *version.Info) {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(provider.KubernetesRestConfig())
	if err != nil {
		t.Fatal(err)
	}
	info, err := client.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	return client, info
}

// checkEmulated fails the test unless the API server behaves like the version. An API that came later is not served.
func checkEmulated(t *testing.T, provider *embedded.Provider, version string) {
	t.Helper()
	client, info := serverVersion(t, provider)
	if got := cmp.Or(info.EmulationMajor, info.Major) + "." + cmp.Or(info.EmulationMinor, info.Minor); got != version {
		t.Fatalf("expected that %s is emulated, got %s", version, got)
	}
	resources, err := client.ServerResourcesForGroupVersion("admissionregistration.k8s.io/v1")
	if err != nil {
		t.Fatal(err)
	}
	mutating := false
	for _, resource := range resources.APIResources {
		mutating = mutating || resource.Name == "mutatingadmissionpolicies"
	}
	if mutating != (version >= policyVersion) {
		t.Errorf("expected v1 of MutatingAdmissionPolicy since %s, it is served in %s: %t", policyVersion, version, mutating)
	}
}

// The chart and the page about installing promise exactly the versions that tests run on.
func TestPromisedVersions(t *testing.T) {
	g := NewWithT(t)
	root, err := cluster.Root(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	oldest := slices.Min(embedded.EmulatedVersions)
	content, err := os.ReadFile(filepath.Join(root, "operator", "dist", "chart", "Chart.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var chart struct {
		KubeVersion string `json:"kubeVersion"`
	}
	g.Expect(yaml.Unmarshal(content, &chart)).To(Succeed())
	g.Expect(chart.KubeVersion).To(Equal(">=" + oldest + ".0-0"))
	page, err := os.ReadFile(filepath.Join(root, "docs", "install.md"))
	g.Expect(err).NotTo(HaveOccurred())
	newest, _, _ := strings.Cut(strings.TrimPrefix(embedded.Version, "v"), ".0")
	g.Expect(string(page)).To(ContainSubstring(fmt.Sprintf("Kubernetes v%s to v%s", oldest, newest)))
}
