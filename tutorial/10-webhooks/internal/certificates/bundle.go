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

// maxBundle is how many authorities a webhook trusts at most. A rotation needs two; more come only from Secrets that were
// deleted one after the other.
const maxBundle = 5

// mergeBundle returns what a webhook should trust that trusts have: the certificates in want, and of our own in have those
// that have not expired, because another replica may still use them. What is not ours goes. It returns have itself if that
// is as it should be, so that nothing is written for another order.
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

// newestFirst compares certificates by age.
func newestFirst(a, b *x509.Certificate) int {
	return cmp.Or(b.NotBefore.Compare(a.NotBefore), bytes.Compare(a.Raw, b.Raw))
}

func containsAll(all, some []*x509.Certificate) bool {
	return !slices.ContainsFunc(some, func(one *x509.Certificate) bool { return !slices.ContainsFunc(all, one.Equal) })
}

// parseBundle returns the certificates in a bundle; there are none in one that can't be read.
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
