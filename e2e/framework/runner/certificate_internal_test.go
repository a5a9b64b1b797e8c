package runner

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestWriteCertificate(t *testing.T) {
	g := NewWithT(t)
	m := render(t, "testdata/issued")
	manager, err := m.Manager()
	g.Expect(err).NotTo(HaveOccurred())
	root := filepath.Join(t.TempDir(), "files")
	authority, err := m.writeCertificate(root, manager)
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
	m := render(t, "testdata/issued")
	manager, err := m.Manager()
	g.Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	for _, named := range []string{"../../outside", "certs/../../../outside", "/../../outside"} {
		manager.Certificates = []string{named}
		_, err = m.writeCertificate(filepath.Join(dir, "operators", "files"), manager)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(filepath.Join(dir, "outside")).NotTo(BeAnExistingFile(), named)
		g.Expect(filepath.Join(dir, "operators", "files", "outside", "tls.key")).To(BeARegularFile(), named)
		g.Expect(os.RemoveAll(filepath.Join(dir, "operators"))).To(Succeed())
	}
}

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
			d, container, err := m.deployment()
			g.Expect(err).NotTo(HaveOccurred())
			container.Args = tc.args
			g.Expect(NewManifests(append(m.Objects(), tc.more...)...).certificates(d, container)).To(Equal(tc.want))
		})
	}
}

func secret(namespace, name string) []*unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	object.SetNamespace(namespace)
	object.SetName(name)
	return []*unstructured.Unstructured{object}
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
			m := Manager{Args: tc.args, Env: tc.env, Certificates: tc.certificates}.within("/$1")
			g.Expect(m.Args).To(Equal(tc.wantArgs))
			g.Expect(m.Env).To(Equal(tc.wantEnv))
		})
	}
}

func TestWebhooksTrustTheAuthority(t *testing.T) {
	g := NewWithT(t)
	var bundles []any
	for _, object := range render(t, "testdata/webhooks").withWebhooksAt("127.0.0.1", 12345, []byte("the authority")) {
		for _, clientConfig := range clientConfigsOf(object) {
			bundles = append(bundles, clientConfig["caBundle"])
		}
	}
	ours := base64.StdEncoding.EncodeToString([]byte("the authority"))
	g.Expect(bundles).To(Equal([]any{ours, ours, ours, nil}), "three webhooks name the operator's Service, the last one somebody else's")
}
