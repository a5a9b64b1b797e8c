package conformance_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

const manager = `apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: system}
spec:
  template:
    spec:
      serviceAccountName: manager
      containers:
      - name: manager
        args: [--leader-elect]
        env: [{name: COLOR, value: red}]
`

// write writes a file that is gone when the test is over.
func write(t *testing.T, name, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPrepare(t *testing.T) {
	g := NewWithT(t)
	executable, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	foreign := conformance.Foreign{
		Operator: executable, Manifests: write(t, "install.yaml", manager, 0o600), Args: []string{"--leader-elect=false"}, Env: []string{"COLOR=blue=green"},
	}
	prepared, err := foreign.Prepare(t.Context(), t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(prepared.Binary).To(Equal(executable))
	g.Expect(prepared.Notes).To(BeEmpty())
	manifests, err := runner.Load(prepared.Manifests)
	g.Expect(err).NotTo(HaveOccurred())
	m, err := manifests.Manager()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m.Args).To(Equal([]string{"--leader-elect", "--leader-elect=false"}))
	g.Expect(m.Env).To(Equal([]string{"COLOR=red", "COLOR=blue=green"}))
}

// foreign are kinds that come with operators, and that a cluster may not have.
const foreign = `---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: serving, namespace: system}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: metrics, namespace: system}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validation}
`

const serviceMonitors = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec: {group: monitoring.coreos.com, names: {kind: ServiceMonitor}}
`

func TestPrepareLeavesOut(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	monitors := write(t, "monitors.yaml", serviceMonitors, 0o600)
	certificate := "left out Certificate serving: the cluster does not know the kind of cert-manager.io/v1"
	monitor := "left out ServiceMonitor metrics: the cluster does not know the kind of monitoring.coreos.com/v1"
	for name, tc := range map[string]struct {
		args, crds, notes, kinds []string
	}{
		"what the cluster does not know, and webhooks without a certificate": {
			notes: []string{certificate, monitor, "left out ValidatingWebhookConfiguration validation: the manager has no --webhook-cert-path, so its webhooks have no certificate"},
			kinds: []string{"Deployment"},
		},
		"not what a file of CRDs defines": {
			args: []string{"--webhook-cert-path=/certs"}, crds: []string{monitors}, notes: []string{certificate},
			kinds: []string{"CustomResourceDefinition", "Deployment", "ServiceMonitor", "ValidatingWebhookConfiguration"},
		},
		"nor what a directory of CRDs defines": {
			args: []string{"--webhook-cert-path=/certs"}, crds: []string{filepath.Dir(monitors)}, notes: []string{certificate},
			kinds: []string{"CustomResourceDefinition", "Deployment", "ServiceMonitor", "ValidatingWebhookConfiguration"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			prepared, err := conformance.Foreign{
				Operator: executable, Manifests: write(t, "install.yaml", manager+foreign, 0o600), Args: tc.args, CRDs: tc.crds,
			}.Prepare(t.Context(), t.TempDir())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(prepared.Notes).To(Equal(tc.notes))
			manifests, err := runner.Load(prepared.Manifests)
			g.Expect(err).NotTo(HaveOccurred())
			var kinds []string
			for _, object := range manifests.Objects() {
				kinds = append(kinds, object.GetKind())
			}
			g.Expect(kinds).To(Equal(tc.kinds))
		})
	}
}
