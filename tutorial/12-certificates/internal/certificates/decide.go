package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"time"
)

// needsSuccessor reports whether a new authority is due. The authorities are ordered newest first.
func needsSuccessor(authorities []authority, now time.Time) bool {
	return len(authorities) == 0 || !now.Before(renewal(authorities[0].certificate))
}

// withoutExpired returns the authorities that have not expired.
func withoutExpired(authorities []authority, now time.Time) []authority {
	return slices.DeleteFunc(slices.Clone(authorities), func(a authority) bool { return !now.Before(a.certificate.NotAfter) })
}

// trust records, for each authority's certificate, since when this replica has seen every webhook trust it.
type trust map[string]time.Time

// observe returns the trust after a check of the webhooks, which now trust these certificates.
func (t trust) observe(now time.Time, trusted []*x509.Certificate) trust {
	observed := trust{}
	for _, certificate := range trusted {
		since, known := t[string(certificate.Raw)]
		if !known {
			since = now
		}
		observed[string(certificate.Raw)] = since
	}
	return observed
}

// settled returns when every API server can be expected to trust a certificate, and whether the webhooks trust it at all. The
// time is some time after the certificate was written, because each API server learns of it through its own watch.
func (t trust) settled(certificate *x509.Certificate, settling time.Duration) (time.Time, bool) {
	since, ok := t[string(certificate.Raw)]
	return since.Add(settling), ok
}

// signer returns which of the authorities, ordered newest first, signs: the newest that has been trusted for long enough, else
// the oldest that is trusted at all, else the newest.
func signer(authorities []authority, trusted trust, now time.Time, settling time.Duration) authority {
	for _, a := range authorities {
		if from, ok := trusted.settled(a.certificate, settling); ok && !now.Before(from) {
			return a
		}
	}
	for _, a := range slices.Backward(authorities) {
		if _, ok := trusted[string(a.certificate.Raw)]; ok {
			return a
		}
	}
	return authorities[0]
}

// mustReissue reports whether a replica that serves current needs a new certificate from the authority by. A replica whose
// certificate is still valid switches to another authority only once all API servers trust that one.
func mustReissue(current *tls.Certificate, by authority, trusted trust, now time.Time, settling time.Duration) bool {
	if current == nil || !now.Before(current.Leaf.NotAfter) {
		return true
	}
	if current.Leaf.CheckSignatureFrom(by.certificate) == nil {
		return !now.Before(renewal(current.Leaf)) && current.Leaf.NotAfter.Before(by.certificate.NotAfter)
	}
	from, ok := trusted.settled(by.certificate, settling)
	return ok && !now.Before(from)
}

// nextCheck returns when to decide again if no event comes first.
func nextCheck(authorities []authority, current *tls.Certificate, trusted trust, now time.Time, settling time.Duration) time.Time {
	// A timer stops while the machine sleeps, so a timer for next month would fire too late.
	next := now.Add(time.Minute)
	times := []time.Time{renewal(authorities[0].certificate), renewal(current.Leaf), current.Leaf.NotAfter}
	for _, a := range authorities {
		times = append(times, a.certificate.NotAfter)
		if from, ok := trusted.settled(a.certificate, settling); ok {
			times = append(times, from)
		}
	}
	for _, t := range times {
		if t.After(now) && t.Before(next) {
			next = t
		}
	}
	return next
}
