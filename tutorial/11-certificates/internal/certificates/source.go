package certificates

import (
	"crypto/tls"
	"errors"
	"net/http"
	"sync"
	"time"
)

// Source holds the certificate that a replica's servers present. The zero Source holds none.
type Source struct {
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
	case !time.Now().Before(s.certificate.Leaf.NotAfter):
		return errors.New("the certificate has expired")
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
