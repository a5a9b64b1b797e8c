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
  resources: [deployments/scale]
  verbs: [create, delete]
`

const permissionsText = `roles: [` + roleFile + `]
needs:
  deployments.apps/scale create: TestCreate
  deployments.apps/scale delete: TestDelete
`

func TestPermissions(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	write(t, filepath.Join(root, roleFile), roleText)
	write(t, filepath.Join(root, "suite", "permissions.yaml"), permissionsText)
	permissions, err := mutant.Permissions(root, "suite")
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	var mutants []mutant.Mutant
	for _, permission := range permissions {
		names = append(names, permission.Role+" "+permission.Resource+" "+permission.Verb)
		mutants = append(mutants, permission.Lacking)
	}
	g.Expect(names).To(Equal([]string{"manager pods list", "manager deployments.apps/scale create", "manager deployments.apps/scale delete"}))

	g.Expect(mutants[0].Name).To(Equal("manager-pods-list"))
	g.Expect(mutants[0].Judges()).To(Equal("the suite's set-up"))
	g.Expect(string(mutants[0].Content[roleFile])).NotTo(ContainSubstring("pods"), "a rule without verbs is invalid")
	g.Expect(mutants[0].Judge(false, "the operator is not ready: forbidden: cannot list resource")).To(BeEmpty())
	g.Expect(mutants[0].Judge(false, "the operator is not ready: no port is free")).NotTo(BeEmpty())
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
	_, err := mutant.Permissions(root, "suite")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("read the operator's permissions from ")))
	write(t, filepath.Join(root, "suite", "permissions.yaml"), "roles: ["+roleFile+"]\nneeds: {secrets get: TestSecrets}\n")
	_, err = mutant.Permissions(root, "suite")
	NewWithT(t).Expect(err).To(MatchError("no role grants secrets get, which TestSecrets is said to need"))
}
