package runner

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/framework/manifest"
)

func TestWriteCertificate(t *testing.T) {
	g := NewWithT(t)
	m, err := manifest.Render("../manifest/testdata/issued")
	g.Expect(err).NotTo(HaveOccurred())
	manager, err := m.Manager()
	g.Expect(err).NotTo(HaveOccurred())
	root := filepath.Join(t.TempDir(), "files")
	authority, err := writeCertificate(root, m, manager)
	g.Expect(err).NotTo(HaveOccurred())

	dir := filepath.Join(root, "tmp", "k8s-webhook-server", "serving-certs")
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	g.Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	g.Expect(roots.AppendCertsFromPEM(authority)).To(BeTrue())
	verify := func(host string) error {
		_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host})
		return err
	}
	g.Expect(verify("gatekeeper-webhook.gatekeeper-system.svc")).To(Succeed())
	g.Expect(verify("gatekeeper-metrics.gatekeeper-system.svc")).To(Succeed())
	g.Expect(verify("localhost")).NotTo(Succeed(), "the API server asks for the Service's name")
	g.Expect(os.ReadFile(filepath.Join(dir, "ca.crt"))).To(Equal(authority))
}

// TestWriteCertificateOutside: whatever directory the manifests name, the files are below the one for them.
func TestWriteCertificateOutside(t *testing.T) {
	g := NewWithT(t)
	m, err := manifest.Render("../manifest/testdata/issued")
	g.Expect(err).NotTo(HaveOccurred())
	manager, err := m.Manager()
	g.Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	for _, named := range []string{"../../outside", "certs/../../../outside", "/../../outside"} {
		manager.Certificates = []string{named}
		_, err = writeCertificate(filepath.Join(dir, "operators", "files"), m, manager)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(filepath.Join(dir, "outside")).NotTo(BeAnExistingFile(), named)
		g.Expect(filepath.Join(dir, "operators", "files", "outside", "tls.key")).To(BeARegularFile(), named)
		g.Expect(os.RemoveAll(filepath.Join(dir, "operators"))).To(Succeed())
	}
}

func TestWithin(t *testing.T) {
	for name, tc := range map[string]struct {
		certificates, args, env []string
		wantArgs, wantEnv       []string
	}{
		"arguments": {
			certificates: []string{"/certs"},
			args:         []string{"--webhook-cert-path=/certs", "--key", "/certs/tls.key", "--metrics-cert-path=/certs-of-metrics", "--url=http://a/certs/"},
			wantArgs:     []string{"--webhook-cert-path=/$1/certs", "--key", "/$1/certs/tls.key", "--metrics-cert-path=/certs-of-metrics", "--url=http://a/certs/"},
		},
		"variables": {
			certificates: []string{"/certs", "/certs-of-metrics"}, env: []string{"CERTS=/certs/", "OTHERS=/certs-of-metrics"},
			wantEnv: []string{"CERTS=/$1/certs/", "OTHERS=/$1/certs-of-metrics"},
		},
		"temporary files": {certificates: []string{"/tmp/k8s-webhook-server/serving-certs"}, wantEnv: []string{"TMPDIR=/$1/tmp"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			m := within("/$1", manifest.Manager{Args: tc.args, Env: tc.env, Certificates: tc.certificates})
			g.Expect(m.Args).To(Equal(tc.wantArgs))
			g.Expect(m.Env).To(Equal(tc.wantEnv))
		})
	}
}
