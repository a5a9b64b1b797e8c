package certificates

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Source holds the certificate that a replica's servers present. The zero Source holds none.
type Source struct {
	// Clock is the real clock if nil.
	Clock clock.PassiveClock

	mutex       sync.RWMutex
	certificate *tls.Certificate
	trusted     bool
}

// GetCertificate is for the field of that name in a server's tls.Config.
func (s *Source) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	if s.certificate == nil {
		return nil, errors.New("there is no certificate yet")
	}
	return s.certificate, nil
}

// Check is for a readiness probe: it succeeds from when the API server trusts the certificate until the certificate
// expires. It does not fail when somebody removes a webhook configuration, because taking the replica out of the Service would
// break the webhooks that are left.
func (s *Source) Check(*http.Request) error {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	switch {
	case s.certificate == nil:
		return errors.New("there is no certificate yet")
	case !s.trusted:
		return errors.New("the webhook configurations do not trust the certificate yet")
	}
	return CheckNotExpired(s.certificate, s.Clock)
}

// CheckNotExpired returns an error if a certificate, which has been parsed, has expired. The clock is the real one if nil.
func CheckNotExpired(certificate *tls.Certificate, by clock.PassiveClock) error {
	now := time.Now
	if by != nil {
		now = by.Now
	}
	if !now().Before(certificate.Leaf.NotAfter) {
		return fmt.Errorf("the certificate has expired at %s", certificate.Leaf.NotAfter.Format(time.RFC3339))
	}
	return nil
}

func (s *Source) current() *tls.Certificate {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return s.certificate
}

func (s *Source) set(certificate *tls.Certificate, trusted bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.certificate = certificate
	s.trusted = s.trusted || trusted
}
