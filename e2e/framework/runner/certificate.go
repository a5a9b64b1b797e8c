package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	certutil "k8s.io/client-go/util/cert"
)

// certificateFlag is what kubebuilder calls the flag of the directory with the certificate of the webhooks.
const certificateFlag = "webhook-cert-path"

// writeCertificate writes a certificate for the Services of the manifests' webhooks, and its key, to files in the directory, and
// returns what to trust: the authority that has signed it is at the end of its chain. The files are called as those of a Secret for TLS in a volume.
func writeCertificate(dir string, m Manifests) (authority []byte, err error) {
	var hosts []string
	for _, service := range m.webhookServices() {
		hosts = append(hosts, fmt.Sprintf("%s.%s.svc", service.Name, service.Namespace))
	}
	chain, key, err := certutil.GenerateSelfSignedCertKey(hosts[0], nil, hosts[1:])
	if err != nil {
		return nil, fmt.Errorf("making a certificate for %s: %w", hosts[0], err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return chain, errors.Join(
		os.WriteFile(filepath.Join(dir, "tls.crt"), chain, 0o600),
		os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600),
	)
}
