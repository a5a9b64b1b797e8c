package e2e

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/12-certificates/api/v1alpha1"
)

// TestCertManager installs the operator with certificates that another program makes. The testbed mounts one in place of cert-manager.
func TestCertManager(t *testing.T) {
	var manifests manifest.Set
	stage.Feature("certificates from cert-manager").
		Setup(func(_ context.Context, s *framework.Scope) { manifests = withCertManager(s) }).
		Assess("are requested for the Services, and injected", func(_ context.Context, s *framework.Scope) {
			g := NewWithT(s)
			g.Expect(manifests.Select("Issuer", "Certificate")).To(HaveLen(2), "expected an Issuer and a Certificate")
			certificate := manifests.Select("Certificate")[0]
			hosts, _, err := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
			g.Expect(err).NotTo(HaveOccurred())
			for _, service := range manifests.Select("Service") {
				g.Expect(hosts).To(ContainElement(service.GetName()+"."+service.GetNamespace()+".svc"), "expected the Certificate to be for each Service")
			}
			configurations := manifests.Select("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
			g.Expect(configurations).To(HaveLen(2))
			for _, configuration := range configurations {
				g.Expect(configuration.GetAnnotations()).To(HaveKeyWithValue("cert-manager.io/inject-ca-from", certificate.GetNamespace()+"/"+certificate.GetName()))
			}
		}).
		Assess("leave the operator no permission to make its own", func(_ context.Context, s *framework.Scope) {
			for _, role := range manifests.Select("Role", "ClusterRole") {
				content, err := role.MarshalJSON()
				if err != nil {
					s.Fatal(err)
				}
				for _, resource := range []string{`"secrets"`, "webhookconfigurations"} {
					if strings.Contains(string(content), resource) {
						s.Errorf("expected no permission for %s; last seen: one in %s %s", resource, role.GetKind(), role.GetName())
					}
				}
			}
		}).
		Assess("serve the webhooks", withWebhooks(func(ctx context.Context, s *framework.Scope) {
			g := NewWithT(s)
			g.Expect(s.Operator.Stop(ctx)).To(Succeed())
			g.Expect(client.IgnoreNotFound(s.Client.Delete(ctx, authority(s)))).To(Succeed())
			s.Install(ctx, manifest.New(manifests.Without("Issuer", "Certificate")...))
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			g.Expect(mc.Annotations).To(HaveKey(cachev1alpha1.AnnotationRequestedBy), "expected the webhooks to be called")
			secret := authority(s)
			err := s.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret)
			g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "expected that the operator makes no authority; last seen: %v", err)
		})).
		TestAlone(t)
}

// withCertManager returns the manifests of config/default-cert-manager.
func withCertManager(s *framework.Scope) manifest.Set {
	s.Helper()
	path, err := stage.Manifests("../../config/default-cert-manager")
	if err != nil {
		s.Fatal(err)
	}
	manifests, err := manifest.Render(path)
	if err != nil {
		s.Fatal(err)
	}
	return manifests
}
