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
	binary, manifests, err := foreign.Prepare(t.Context(), t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(binary).To(Equal(executable))
	prepared, err := runner.Load(manifests)
	g.Expect(err).NotTo(HaveOccurred())
	m, err := prepared.Manager()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m.Args).To(Equal([]string{"--leader-elect", "--leader-elect=false"}))
	g.Expect(m.Env).To(Equal([]string{"COLOR=red", "COLOR=blue=green"}))
}
