package mutant_test

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/mutant"
)

const roleFile = "operator/config/rbac/role.yaml"

const roleText = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: manager
rules:
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
- apiGroups: [apps]
  resources: [deployments]
  verbs: [create, delete]
`

func TestRights(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	write(t, filepath.Join(root, roleFile), roleText)
	mutants, err := mutant.Rights(root, []string{roleFile}, map[string]string{"deployments create": "TestCreate", "deployments delete": "TestDelete"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(mutants).To(HaveLen(3))

	g.Expect(mutants[0].Name).To(Equal("manager-pods-list"))
	g.Expect(mutants[0].Judges()).To(Equal("the suite's set-up"))
	g.Expect(string(mutants[0].Content[roleFile])).NotTo(ContainSubstring("pods"), "a rule without verbs is no rule")
	g.Expect(mutants[0].Judge(false, "the operator is not ready: forbidden")).To(BeEmpty())
	g.Expect(mutants[0].Judge(true, "ok")).To(Equal("survived: the suite's set-up passed although the operator lacks pods list of manager"))

	g.Expect(mutants[2].Test).To(Equal("TestDelete"))
	g.Expect(string(mutants[2].Content[roleFile])).To(And(ContainSubstring("create"), Not(ContainSubstring("delete"))))

	broken, err := mutants[2].Apply(t.Context(), root, "operator/config", t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(filepath.Join(broken.Manifests, "rbac", "role.yaml")).To(BeAnExistingFile())
}

func TestRightsRefuses(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, roleFile), roleText)
	_, err := mutant.Rights(root, []string{roleFile}, map[string]string{"secrets get": "TestSecrets"})
	NewWithT(t).Expect(err).To(MatchError("no role grants secrets get, which TestSecrets is said to need"))
}
