package runner_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/runner"
)

func TestRenderSortsLikeKubectl(t *testing.T) {
	g := NewWithT(t)
	manifests, err := runner.Render("../../operator/config/default")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manifests.Objects()[0].GetKind()).To(Equal("Namespace"), "what others need comes first")
	for _, object := range manifests.Objects() {
		g.Expect(func() { object.DeepCopy() }).NotTo(Panic(), "%s has numbers that apimachinery can copy", object.GetKind())
	}
	g.Expect(manifests.Select("Deployment")).To(HaveLen(1))
	g.Expect(manifests.Without("Deployment")).To(HaveLen(len(manifests.Objects()) - 1))
}

func TestManagerIsWhoTheManifestsSay(t *testing.T) {
	g := NewWithT(t)
	manifests, err := runner.Render("../../operator/config/default")
	g.Expect(err).NotTo(HaveOccurred())
	manager, err := manifests.Manager()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manager.ServiceAccount).To(Equal(client.ObjectKey{Namespace: "operator-system", Name: "operator-controller-manager"}))
	g.Expect(manager.UserName()).To(Equal("system:serviceaccount:operator-system:operator-controller-manager"))
}

func TestRenderNamesTheFolderItCannotRender(t *testing.T) {
	_, err := runner.Render("testdata/none")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("rendering the kustomization testdata/none")))
}
