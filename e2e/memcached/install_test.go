package memcached

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestInstaller owns the operator and the cluster: everything is installed again, with the CustomResourceDefinition, from the one file
// of `make build-installer`. The operator runs as the image that the file names where nodes run images, and otherwise as a process with
// what the file says.
func TestInstaller(t *testing.T) {
	feature := memcached.Feature("installer").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "cluster").
		Setup(ownOperator)
	framework.Given(feature, func(ctx context.Context, s *framework.Scope) (since audit.Mark) {
		image := cmp.Or(s.Image, "registry.example.com/operator:v1")
		manifests := buildInstaller(ctx, s, image)
		NewWithT(s).Expect(manifests.Select("Deployment")).To(ConsistOf(WithTransform(containers, ConsistOf(HaveKeyWithValue("image", image)))))
		NewWithT(s).Expect(kinds(manifests)).To(HaveExactElements("Namespace", "CustomResourceDefinition"), "kubectl applies them in this order")
		if s.Audit != nil {
			since = s.Mark()
		}
		s.Install(ctx, manifests)
		return since
	}).
		Assess("serves Memcacheds", func(ctx context.Context, s *framework.Scope, _ audit.Mark) {
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			settled(ctx, s, mc)
			resize(ctx, s, mc, s.Size(3, 4))
			settled(ctx, s, mc)
		}).
		Assess("with its webhooks", func(ctx context.Context, s *framework.Scope, _ audit.Mark) {
			s.NeedsWebhooks()
			mc := create(ctx, s, s.NewName("asked"), s.Size(1, 2))
			NewWithT(s).Expect(mc.Annotations).To(HaveKey(cachev1alpha1.AnnotationRequestedBy))
		}).
		Assess("and asks for nothing that it may not have", nothingForbidden).
		TestAlone(t)
}

// buildInstaller runs `make build-installer` in the operator's directory, and loads the file that it writes. The test renders what
// kubectl would render.
func buildInstaller(ctx context.Context, s *framework.Scope, image string) manifest.Set {
	s.Helper()
	work := s.TempDir()
	kustomization, err := memcached.Manifests("../../operator/config/default")
	if err != nil {
		s.Fatal(err)
	}
	manifests, err := manifest.Render(kustomization)
	if err != nil {
		s.Fatal(err)
	}
	content, err := manifests.YAML()
	if err != nil {
		s.Fatal(err)
	}
	rendered, kubectl := filepath.Join(work, "rendered"), filepath.Join(work, "kubectl")
	for file, content := range map[string][]byte{rendered: content, kubectl: fmt.Appendf(nil, "#!/bin/sh\ncat %q\n", rendered)} {
		if err := os.WriteFile(file, content, 0o700); err != nil {
			s.Fatal(err)
		}
	}
	build := exec.CommandContext(ctx, "make", "--silent", "--old-file=manifests", "--old-file=generate", "build-installer",
		"IMG="+image, "KUBECTL="+kubectl, "DIST="+work)
	build.Dir = "../../operator"
	build.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=") // without the options of an outer make
	if output, err := build.CombinedOutput(); err != nil {
		s.Fatalf("%s: %v\n%s", build, err, output)
	}
	if manifests, err = manifest.Load(filepath.Join(work, "install.yaml")); err != nil {
		s.Fatal(err)
	}
	return manifests
}

// kinds returns the kinds of the first two objects.
func kinds(m manifest.Set) []string {
	var kinds []string
	for _, object := range m.Objects()[:2] {
		kinds = append(kinds, object.GetKind())
	}
	return kinds
}

// containers returns the containers of a Deployment.
func containers(deployment *unstructured.Unstructured) []any {
	found, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	return found
}

// nothingForbidden fails the test if a request of the operator's was refused for want of a permission since the mark.
func nothingForbidden(_ context.Context, s *framework.Scope, since audit.Mark) {
	s.Helper()
	s.NeedsAudit()
	user := s.Operator.UserName()
	asked, err := s.Audit.Since(since, audit.ByUser(user))
	if err != nil {
		s.Fatal(err)
	}
	if len(asked) == 0 {
		s.Errorf("expected requests of %s in the audit log; last seen: none", user)
	}
	refused, err := s.Audit.Since(since, audit.ByUser(user), audit.Forbidden)
	if err != nil {
		s.Fatal(err)
	}
	if len(refused) > 0 {
		s.Errorf("expected no request of %s that is refused; last seen:\n%s", user, audit.Describe(refused))
	}
}
