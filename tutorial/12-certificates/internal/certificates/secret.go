package certificates

import (
	"crypto/x509"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// The keys of the Secret, in addition to tls.crt and tls.key, which hold the newest authority.
const (
	// bundleKey holds the certificates of all authorities in use, so that a client which trusts all of them is not affected by a
	// rotation.
	bundleKey = "ca.crt"

	previousCertificateKey = "previous.crt"
	previousKeyKey         = "previous.key"
)

// encodeSecret returns the data of the Secret that holds the authorities, one or two, newest first.
func encodeSecret(authorities []authority) (map[string][]byte, error) {
	data := map[string][]byte{bundleKey: encodeCertificates(certificatesOf(authorities)...)}
	keys := [][2]string{{corev1.TLSCertKey, corev1.TLSPrivateKeyKey}, {previousCertificateKey, previousKeyKey}}
	for i, a := range authorities {
		certificate, key, err := a.encode()
		if err != nil {
			return nil, err
		}
		data[keys[i][0]], data[keys[i][1]] = certificate, key
	}
	return data, nil
}

// parseSecret returns the authorities in the data of a Secret, newest first.
func parseSecret(data map[string][]byte) ([]authority, error) {
	newest, err := parseAuthority(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", corev1.TLSCertKey, corev1.TLSPrivateKeyKey, err)
	}
	if len(data[previousCertificateKey]) == 0 {
		return []authority{newest}, nil
	}
	previous, err := parseAuthority(data[previousCertificateKey], data[previousKeyKey])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", previousCertificateKey, previousKeyKey, err)
	}
	return []authority{newest, previous}, nil
}

func certificatesOf(authorities []authority) []*x509.Certificate {
	var certificates []*x509.Certificate
	for _, a := range authorities {
		certificates = append(certificates, a.certificate)
	}
	return certificates
}
