package manifest

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestCertificates(t *testing.T) {
	const mounted = "/tmp/k8s-webhook-server/serving-certs"
	for name, tc := range map[string]struct {
		args []string
		more []*unstructured.Unstructured
		want []string
	}{
		"a Secret that is mounted": {want: []string{mounted}},
		"and named by a flag":      {args: []string{"--webhook-cert-path=" + mounted}, want: []string{mounted}},
		"a flag alone": {
			args: []string{"--webhook-cert-path=/certs"}, more: secret("gatekeeper-system", "gatekeeper-serving"), want: []string{"/certs"},
		},
		"a Secret that the manifests have":    {more: secret("gatekeeper-system", "gatekeeper-serving")},
		"a Secret that another namespace has": {more: secret("default", "gatekeeper-serving"), want: []string{mounted}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			m := render(t, "testdata/issued")
			d, container, err := m.Deployment()
			g.Expect(err).NotTo(HaveOccurred())
			container.Args = tc.args
			m = New(append(m.Objects(), tc.more...)...)
			g.Expect(m.certificates(d, container)).To(Equal(tc.want))
			missing := []string{"gatekeeper-serving"}
			if slices.ContainsFunc(tc.more, func(o *unstructured.Unstructured) bool { return o.GetNamespace() == d.Namespace }) {
				missing = nil
			}
			g.Expect(m.missingSecrets(d)).To(Equal(missing))
		})
	}
}

func secret(namespace, name string) []*unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	object.SetNamespace(namespace)
	object.SetName(name)
	return []*unstructured.Unstructured{object}
}
