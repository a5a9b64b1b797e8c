package embedded

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// Files in the pki folder.
const (
	caCert     = "ca.crt"
	serverCert = "kube-apiserver.crt"
	serverKey  = "kube-apiserver.key"
	accountKey = "service-accounts.key"
)

// pki is everything a cluster needs to be trusted, in PEM. The key of the CA
// is not part of it: nothing is signed after the start.
type pki map[string][]byte

// newPKI makes a CA, the API server's certificate and the key that signs the
// tokens of service accounts. ECDSA keys take well under a millisecond.
func newPKI(now time.Time) (pki, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "operator-testbed"},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	caDER, err := sign(ca, ca, caKey, caKey, now)
	if err != nil {
		return nil, err
	}
	if ca, err = x509.ParseCertificate(caDER); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	certDER, err := sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: KubeAPIServer},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, ca, key, caKey, now)
	if err != nil {
		return nil, err
	}
	accounts, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	files := pki{
		caCert:     encode("CERTIFICATE", caDER),
		serverCert: encode("CERTIFICATE", certDER),
	}
	for name, key := range map[string]*ecdsa.PrivateKey{serverKey: key, accountKey: accounts} {
		der, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			return nil, err
		}
		files[name] = encode("EC PRIVATE KEY", der)
	}
	return files, nil
}

// sign signs a certificate for the public half of key. It is valid for a year:
// no cluster of ours lives that long. It starts an hour ago, so that a clock
// that is set back a little does no harm.
func sign(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey, now time.Time) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = now.Add(-time.Hour)
	template.NotAfter = now.AddDate(1, 0, 0)
	return x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
