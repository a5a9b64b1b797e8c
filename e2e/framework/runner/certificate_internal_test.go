package runner

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestWriteCertificate(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "certificate")
	authority, err := writeCertificate(dir, render(t, "testdata/webhooks"))
	g.Expect(err).NotTo(HaveOccurred())

	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	g.Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	g.Expect(roots.AppendCertsFromPEM(authority)).To(BeTrue())
	verify := func(host string) error {
		_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host})
		return err
	}
	g.Expect(verify("gatekeeper-webhook.gatekeeper-system.svc")).To(Succeed())
	g.Expect(verify("localhost")).NotTo(Succeed(), "the API server asks for the Service's name")
}

func TestWebhooksTrustTheAuthority(t *testing.T) {
	g := NewWithT(t)
	var bundles []any
	for _, object := range render(t, "testdata/webhooks").withWebhooksAt(12345, []byte("the authority")) {
		for _, clientConfig := range clientConfigsOf(object) {
			bundles = append(bundles, clientConfig["caBundle"])
		}
	}
	ours := base64.StdEncoding.EncodeToString([]byte("the authority"))
	g.Expect(bundles).To(Equal([]any{ours, ours, ours, nil}), "three webhooks name the operator's Service, the last one somebody else's")
}
