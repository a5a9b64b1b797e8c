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
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/audit"
	"github.com/example/operator-testbed/e2e/runner"
	"github.com/example/operator-testbed/e2e/suite"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestInstaller owns the operator, which is installed again from the one file of `make build-installer`: as the image that the file
// names where nodes run images, and otherwise as a process with what the file says.
func TestInstaller(t *testing.T) {
	var mark audit.Mark
	memcached.TestAlone(t, features.New("installer").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "operator").
		Setup(suite.Step(ownOperator)).
		Setup(suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			image := cmp.Or(s.Image, "registry.example.com/operator:v1")
			manifests, err := runner.Load(buildInstaller(ctx, t, image))
			if err != nil {
				t.Fatal(err)
			}
			NewWithT(t).Expect(manifests.Select("Deployment")).To(ConsistOf(WithTransform(containers, ConsistOf(HaveKeyWithValue("image", image)))))
			NewWithT(t).Expect(kinds(manifests)).To(HaveExactElements("Namespace", "CustomResourceDefinition"), "kubectl applies them in this order")
			if s.Audit != nil {
				mark = s.Mark(t)
			}
			s.Install(ctx, t, manifests)
		})).
		Assess("serves Memcacheds", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := create(ctx, t, s, "cache", 1)
			settled(ctx, t, s, mc)
			change(ctx, t, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(2)) })
			settled(ctx, t, s, mc)
		})).
		Assess("with its webhooks", suite.Step(withWebhooks(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := create(ctx, t, s, "asked", 1)
			NewWithT(t).Expect(mc.Annotations).To(HaveKey(cachev1alpha1.AnnotationRequestedBy))
		}))).
		Assess("and asks for nothing that it may not have", suite.Step(func(_ context.Context, t *testing.T, s *suite.Scope) {
			s.NeedsAudit(t)
			nothingForbidden(t, s, mark, s.Operator.UserName())
		})).
		Feature())
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
func nothingForbidden(t *testing.T, s *suite.Scope, since audit.Mark, user string) {
	t.Helper()
	asked, err := s.Audit.Since(since, audit.ByUser(user))
	if err != nil {
		t.Fatal(err)
	}
	if len(asked) == 0 {
		t.Errorf("expected requests of %s in the audit log; last seen: none", user)
	}
	refused, err := s.Audit.Since(since, audit.ByUser(user), audit.Forbidden)
	if err != nil {
		t.Fatal(err)
	}
	if len(refused) > 0 {
		t.Errorf("expected no request of %s that is refused; last seen:\n%s", user, audit.Describe(refused))
	}
}
