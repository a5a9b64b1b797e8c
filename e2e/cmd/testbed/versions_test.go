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
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/supervisor/leftover"
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
			run := func(pattern, pkg string) {
				command := b.command("go", "test", "-count=1", "-v", "-run="+pattern, pkg)
				command.Env = append(command.Env, "CLUSTER=embedded", "TESTBED_CLUSTER="+name, tier.Variable+"="+string(tier.InTest))
				command.Stdout, command.Stderr = t.Output(), t.Output() // which shows that it makes progress
				if err := command.Run(); err != nil {
					t.Errorf("%s: %v", command, err)
				}
			}
			run(operatorFeatures, "./e2e/memcached")
			if version >= policyVersion {
				run(policyFeatures, "./tutorial/11-admission/test/e2e")
			}
		})
	}
}

// checkEmulated fails the test unless the API server behaves like the version. An API that came later is not served.
func checkEmulated(t *testing.T, provider *embedded.Provider, version string) {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(provider.KubernetesRestConfig())
	if err != nil {
		t.Fatal(err)
	}
	info, err := client.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
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
