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
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestInstaller owns the operator, which is installed again from the one file of `make build-installer`: as the image that the file
// names where nodes run images, and otherwise as a process with what the file says.
func TestInstaller(t *testing.T) {
	var mark audit.Mark
	memcached.Feature("installer").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "operator").
		Setup(ownOperator).
		Setup(func(ctx context.Context, s *framework.Scope) {
			image := cmp.Or(s.Image, "registry.example.com/operator:v1")
			manifests, err := runner.Load(buildInstaller(ctx, s.T, image))
			if err != nil {
				s.Fatal(err)
			}
			NewWithT(s).Expect(manifests.Select("Deployment")).To(ConsistOf(WithTransform(containers, ConsistOf(HaveKeyWithValue("image", image)))))
			NewWithT(s).Expect(kinds(manifests)).To(HaveExactElements("Namespace", "CustomResourceDefinition"), "kubectl applies them in this order")
			if s.Audit != nil {
				mark = s.Mark()
			}
			s.Install(ctx, manifests)
		}).
		Assess("serves Memcacheds", func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, s, "cache", 1)
			settled(ctx, s, mc)
			change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(2)) })
			settled(ctx, s, mc)
		}).
		Assess("with its webhooks", withWebhooks(func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, s, "asked", 1)
			NewWithT(s).Expect(mc.Annotations).To(HaveKey(cachev1alpha1.AnnotationRequestedBy))
		})).
		Assess("and asks for nothing that it may not have", func(_ context.Context, s *framework.Scope) {
			s.NeedsAudit()
			nothingForbidden(s, mark, s.Operator.UserName())
		}).
		TestAlone(t)
}

// buildInstaller runs `make build-installer` in the operator's directory, and returns the file that it writes. What its kubectl
// renders is rendered here.
func buildInstaller(ctx context.Context, t *testing.T, image string) string {
	t.Helper()
	work := t.TempDir()
	kustomization, err := memcached.Manifests("../../operator/config/default")
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := runner.Render(kustomization)
	if err != nil {
		t.Fatal(err)
	}
	content, err := manifests.YAML()
	if err != nil {
		t.Fatal(err)
	}
	rendered, kubectl := filepath.Join(work, "rendered"), filepath.Join(work, "kubectl")
	for file, content := range map[string][]byte{rendered: content, kubectl: fmt.Appendf(nil, "#!/bin/sh\ncat %q\n", rendered)} {
		if err := os.WriteFile(file, content, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(ctx, "make", "--silent", "--old-file=manifests", "--old-file=generate", "build-installer",
		"IMG="+image, "KUBECTL="+kubectl, "DIST="+work)
	build.Dir = "../../operator"
	build.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=") // not what an outer make was told
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, output)
	}
	return filepath.Join(work, "install.yaml")
}

// kinds returns the kinds of the first two objects.
func kinds(m runner.Manifests) []string {
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

// nothingForbidden fails the test if a request of the user's was refused for want of a permission since the mark.
func nothingForbidden(s *framework.Scope, since audit.Mark, user string) {
	s.Helper()
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
