package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"time"
)

// needsSuccessor returns whether a new authority is due beside these, newest first.
func needsSuccessor(authorities []authority, now time.Time) bool {
	return len(authorities) == 0 || !now.Before(renewal(authorities[0].certificate))
}

// withoutExpired returns the authorities that are valid.
func withoutExpired(authorities []authority, now time.Time) []authority {
	return slices.DeleteFunc(slices.Clone(authorities), func(a authority) bool { return !now.Before(a.certificate.NotAfter) })
}

// trust is since when, as far as a replica knows, every webhook has trusted an authority, by the authority's certificate.
type trust map[string]time.Time

// observe returns the trust after certificates were seen to be trusted.
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

// settled returns since when every API server can be expected to trust a certificate: some time after it was written, because
// each API server learns of it by itself.
func (t trust) settled(certificate *x509.Certificate, settling time.Duration) (time.Time, bool) {
	since, ok := t[string(certificate.Raw)]
	return since.Add(settling), ok
}

// signer returns which of the authorities, newest first, is to sign: the newest that is trusted for long enough, or the oldest
// that is trusted at all, or else the newest.
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

// mustReissue returns whether a replica that serves current must get a certificate from the signer instead. It changes to
// another authority when all API servers trust that one, unless it has nothing better.
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

// nextLook returns when to decide anew if nothing happens before.
func nextLook(authorities []authority, current *tls.Certificate, trusted trust, now time.Time, settling time.Duration) time.Time {
	// A timer stands still while a machine sleeps, so that it is no use to set one for next month.
	next := now.Add(time.Minute)
	moments := []time.Time{renewal(authorities[0].certificate), renewal(current.Leaf), current.Leaf.NotAfter}
	for _, a := range authorities {
		moments = append(moments, a.certificate.NotAfter)
		if from, ok := trusted.settled(a.certificate, settling); ok {
			moments = append(moments, from)
		}
	}
	for _, moment := range moments {
		if moment.After(now) && moment.Before(next) {
			next = moment
		}
	}
	return next
}
