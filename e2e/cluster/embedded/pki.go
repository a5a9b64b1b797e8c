package embedded

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// Files in the pki directory.
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
// tokens of service accounts. ECDSA keys take well under a millisecond. The
// certificate is valid for a year: no cluster of ours lives that long. All
// start an hour ago, so that a clock that is set back a little does no harm.
func newPKI(now time.Time) (pki, error) {
	start := now.Add(-time.Hour)
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "operator-testbed", NotBefore: start}, caKey)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	server, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		Subject:     pkix.Name{CommonName: KubeAPIServer},
		NotBefore:   start,
		NotAfter:    now.AddDate(1, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, ca, key.Public(), caKey)
	if err != nil {
		return nil, err
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, err
	}
	accounts, err := keyutil.MakeEllipticPrivateKeyPEM()
	return pki{caCert: encode(ca.Raw), serverCert: encode(server), serverKey: keyPEM, accountKey: accounts}, err
}

// encode returns a certificate in PEM.
func encode(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
}
