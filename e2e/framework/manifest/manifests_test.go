package manifest_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/manifest"
)

func TestRenderSortsLikeKubectl(t *testing.T) {
	g := NewWithT(t)
	manifests, err := manifest.Render("../../../operator/config/default")
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
	manifests, err := manifest.Render("../../../operator/config/default")
	g.Expect(err).NotTo(HaveOccurred())
	manager, err := manifests.Manager()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manager.ServiceAccount).To(Equal(client.ObjectKey{Namespace: "operator-system", Name: "operator-controller-manager"}))
	g.Expect(manager.UserName()).To(Equal("system:serviceaccount:operator-system:operator-controller-manager"))
}

func TestRenderNamesTheDirectoryItCannotRender(t *testing.T) {
	_, err := manifest.Render("testdata/none")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("rendering the kustomization testdata/none")))
}

func TestLoadReadsWhatYAMLHasWritten(t *testing.T) {
	g := NewWithT(t)
	rendered, err := manifest.Load("../../../operator/config/default")
	g.Expect(err).NotTo(HaveOccurred())
	content, err := rendered.YAML()
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(t.TempDir(), "install.yaml")
	g.Expect(os.WriteFile(file, append([]byte("# A comment.\n---\n"), content...), 0o600)).To(Succeed())
	loaded, err := manifest.Load(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(loaded.Objects()).To(Equal(rendered.Objects()))
}

func TestLoadReadsTheFilesOfADirectory(t *testing.T) {
	for name, want := range map[string][]string{"Kustomization": {"a"}, "kustomization.yml": {"a"}, "notes.txt": {"a", "b"}} {
		t.Run(name, func(t *testing.T) {
			g, directory := NewWithT(t), t.TempDir()
			for file, content := range map[string]string{
				name: "resources: [a.yml]", "a.yml": "{apiVersion: v1, kind: Namespace, metadata: {name: a}}",
				"b.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: b}}",
			} {
				g.Expect(os.WriteFile(filepath.Join(directory, file), []byte(content), 0o600)).To(Succeed())
			}
			loaded, err := manifest.Load(directory)
			g.Expect(err).NotTo(HaveOccurred())
			var names []string
			for _, object := range loaded.Objects() {
				names = append(names, object.GetName())
			}
			g.Expect(names).To(Equal(want))
		})
	}
}

func TestLoadNamesTheFileItCannotRead(t *testing.T) {
	g := NewWithT(t)
	_, err := manifest.Load("testdata/none.yaml")
	g.Expect(err).To(MatchError(ContainSubstring("testdata/none.yaml")))
	file := filepath.Join(t.TempDir(), "install.yaml")
	g.Expect(os.WriteFile(file, []byte("metadata: {}\n"), 0o600)).To(Succeed())
	_, err = manifest.Load(file)
	g.Expect(err).To(MatchError(And(ContainSubstring(file), ContainSubstring("Kind"))))
}
