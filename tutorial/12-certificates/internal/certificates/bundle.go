package certificates

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
)

// maxBundle is the maximum number of authorities that a webhook trusts. A rotation needs two; there are more only if Secrets were
// deleted one after the other.
const maxBundle = 5

// mergeBundle returns the bundle for a webhook whose bundle is have: the certificates in want, and the operator's own in have
// that have not expired, because another replica may still use them. Foreign certificates are removed. If have holds exactly
// these certificates already, it is returned as it is, so that a different order causes no write.
func mergeBundle(have []byte, want []*x509.Certificate, now time.Time) []byte {
	present := parseBundle(have)
	merged := slices.Clone(want)
	for _, certificate := range present {
		if isOurs(certificate) && now.Before(certificate.NotAfter) && !slices.ContainsFunc(merged, certificate.Equal) {
			merged = append(merged, certificate)
		}
	}
	slices.SortStableFunc(merged, newestFirst)
	merged = merged[:min(len(merged), maxBundle)]
	if len(merged) == len(present) && containsAll(present, merged) {
		return have
	}
	return encodeCertificates(merged...)
}

// newestFirst orders certificates by age, the newest first.
func newestFirst(a, b *x509.Certificate) int {
	return cmp.Or(b.NotBefore.Compare(a.NotBefore), bytes.Compare(a.Raw, b.Raw))
}

func containsAll(all, some []*x509.Certificate) bool {
	return !slices.ContainsFunc(some, func(one *x509.Certificate) bool { return !slices.ContainsFunc(all, one.Equal) })
}

// parseBundle returns the certificates in a bundle, or none if the bundle can't be read.
func parseBundle(bundle []byte) []*x509.Certificate {
	certificates, err := cert.ParseCertsPEM(bundle)
	if err != nil {
		return nil
	}
	return certificates
}

func encodeCertificates(certificates ...*x509.Certificate) []byte {
	var bundle bytes.Buffer
	for _, certificate := range certificates {
		bundle.Write(pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: certificate.Raw}))
	}
	return bundle.Bytes()
}
