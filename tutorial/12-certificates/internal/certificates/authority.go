package certificates

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	// authorityName is the common name of every authority. It distinguishes the operator's authorities from others in a bundle.
	authorityName = "memcached-operator-ca"

	// backdate is how far the clock of a verifier may be behind ours.
	backdate = 5 * time.Minute
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// newAuthority creates an authority that is valid for the given duration.
func newAuthority(now time.Time, validity time.Duration) (authority, error) {
	key, err := newKey()
	if err != nil {
		return authority{}, err
	}
	template, err := newTemplate(authorityName, now, now.Add(validity))
	if err != nil {
		return authority{}, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.MaxPathLenZero = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	certificate, err := sign(template, template, key.Public(), key)
	return authority{certificate: certificate, key: key}, err
}

// issue signs a certificate for a server with these names. It expires no later than the authority.
func (a authority) issue(now time.Time, validity time.Duration, names []string) (*tls.Certificate, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	end := now.Add(validity)
	if a.certificate.NotAfter.Before(end) {
		end = a.certificate.NotAfter
	}
	template, err := newTemplate(names[0], now, end)
	if err != nil {
		return nil, err
	}
	template.DNSNames = names
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	certificate, err := sign(template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{certificate.Raw}, PrivateKey: key, Leaf: certificate}, nil
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func newTemplate(name string, now, end time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-backdate),
		NotAfter:     end,
	}, nil
}

func sign(template, parent *x509.Certificate, public crypto.PublicKey, private crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, private)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// renewal returns when to replace a certificate: after two thirds of its validity, which leaves time to recover from failures.
func renewal(certificate *x509.Certificate) time.Time {
	start := certificate.NotBefore.Add(backdate)
	return start.Add(certificate.NotAfter.Sub(start) * 2 / 3)
}

// encode returns the authority in PEM, the form that parseAuthority reads.
func (a authority) encode() (certificate, key []byte, err error) {
	key, err = keyutil.MarshalPrivateKeyToPEM(a.key)
	return encodeCertificates(a.certificate), key, err
}

// parseAuthority reads an authority from PEM.
func parseAuthority(certificatePEM, keyPEM []byte) (authority, error) {
	certificates, err := cert.ParseCertsPEM(certificatePEM)
	if err != nil {
		return authority{}, fmt.Errorf("read the certificate: %w", err)
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(keyPEM)
	if err != nil {
		return authority{}, fmt.Errorf("read the key: %w", err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	switch {
	case !ok:
		return authority{}, errors.New("the key is not an ECDSA key, as the operator creates")
	case !key.PublicKey.Equal(certificates[0].PublicKey):
		return authority{}, errors.New("the key does not belong to the certificate")
	case !certificates[0].IsCA:
		return authority{}, errors.New("the certificate is not that of a certificate authority")
	case !isOurs(certificates[0]):
		return authority{}, fmt.Errorf("the certificate is that of %q, not of %q", certificates[0].Subject.CommonName, authorityName)
	}
	return authority{certificate: certificates[0], key: key}, nil
}

func isOurs(certificate *x509.Certificate) bool {
	return certificate.Subject.CommonName == authorityName && bytes.Equal(certificate.RawSubject, certificate.RawIssuer)
}
