package exercises

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// A failure ends with a warning if a marker has changed without make manifests.
func TestWarnOfStale(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "mine")
	g.Expect(Solution(t.Context(), "../../..", "03-controller", dir, io.Discard)).To(Succeed())
	warning := func() string {
		var out bytes.Buffer
		warnOfStale(t.Context(), dir, &out)
		return out.String()
	}
	g.Expect(warning()).To(BeEmpty())

	code := filepath.Join(dir, "internal", "controller", "memcached_controller.go")
	text, err := os.ReadFile(code)
	g.Expect(err).NotTo(HaveOccurred())
	const verbs = "resources=deployments,verbs="
	g.Expect(string(text)).To(ContainSubstring(verbs))
	g.Expect(os.WriteFile(code, bytes.Replace(text, []byte(verbs), []byte(verbs+"deletecollection;"), 1), 0o600)).To(Succeed())
	role := filepath.Join(dir, "config", "rbac", "role.yaml")
	before, err := os.ReadFile(role)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(warning()).To(Equal("\nGenerated from older code: config/rbac/role.yaml. Run make generate manifests DIR=" + dir + ".\n"))
	g.Expect(os.ReadFile(role)).To(Equal(before), "nothing is written in the copy")

	g.Expect(os.Remove(filepath.Join(dir, "Makefile"))).To(Succeed())
	g.Expect(warning()).To(BeEmpty())
}
