package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"
)

var testNow = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// testAuthority is an authority that was created at testNow and is valid for ten hours.
func testAuthority(t *testing.T) authority {
	t.Helper()
	a, err := newAuthority(testNow, 10*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func testCertificate(t *testing.T, by authority, validity time.Duration) *tls.Certificate {
	t.Helper()
	certificate, err := by.issue(testNow, validity, []string{serverName})
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// A minute is enough for any API server. A short-lived authority can't spare it.
func TestSettling(t *testing.T) {
	for duration, want := range map[time.Duration]time.Duration{time.Hour: time.Minute, time.Minute: 6 * time.Second} {
		if got := (Options{AuthorityDuration: duration}).settling(); got != want {
			t.Errorf("an authority that is valid for %s settles for %s, want %s", duration, got, want)
		}
	}
}

func TestMustReissue(t *testing.T) {
	const settling = time.Minute
	by, other := testAuthority(t), testAuthority(t)
	mine, others, longest := testCertificate(t, by, 3*time.Hour), testCertificate(t, other, 3*time.Hour), testCertificate(t, by, 10*time.Hour)
	since := func(ago time.Duration) trust { return trust{string(by.certificate.Raw): testNow.Add(-ago)} }
	for _, test := range []struct {
		name    string
		current *tls.Certificate
		trusted trust
		after   time.Duration
		want    bool
	}{
		{"none", nil, nil, 0, true},
		{"new", mine, nil, 0, false},
		{"just before its renewal", mine, nil, 2*time.Hour - 1, false},
		{"at its renewal", mine, nil, 2 * time.Hour, true},
		{"as long as its authority", longest, nil, 9 * time.Hour, false},
		{"expired with its authority", longest, nil, 10 * time.Hour, true},
		{"of another authority, and the signer is not trusted", others, nil, 0, false},
		{"of another authority, and the signer is trusted by some", others, since(settling - 1), 0, false},
		{"of another authority, and the signer is trusted by all", others, since(settling), 0, true},
		{"of another authority, and expired", others, nil, 3 * time.Hour, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := mustReissue(test.current, by, test.trusted, testNow.Add(test.after), settling); got != test.want {
				t.Errorf("mustReissue() = %t, want %t", got, test.want)
			}
		})
	}
}

// A verifier whose clock is a few minutes behind accepts a new certificate.
func TestClocksMayDiffer(t *testing.T) {
	a := testAuthority(t)
	roots := x509.NewCertPool()
	roots.AddCert(a.certificate)
	behind := x509.VerifyOptions{Roots: roots, DNSName: serverName, CurrentTime: testNow.Add(-4 * time.Minute)}
	if _, err := testCertificate(t, a, time.Hour).Leaf.Verify(behind); err != nil {
		t.Error(err)
	}
}

// An authority's certificate says that it may sign, because others that verify a chain check that.
func TestAuthorityMaySign(t *testing.T) {
	if usage := testAuthority(t).certificate.KeyUsage; usage&x509.KeyUsageCertSign == 0 {
		t.Errorf("an authority may not sign certificates: its usage is %b", usage)
	}
}

// Only a self-signed certificate with the operator's name is the operator's own.
func TestIsOurs(t *testing.T) {
	ours := testAuthority(t)
	foreign, err := newTemplate("foreign", testNow, testNow.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	foreignCertificate, err := sign(foreign, foreign, ours.key.Public(), ours.key)
	if err != nil {
		t.Fatal(err)
	}
	namesake, err := authority{certificate: foreignCertificate, key: ours.key}.issue(testNow, time.Hour, []string{authorityName})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		certificate *x509.Certificate
		want        bool
	}{
		"ours":              {ours.certificate, true},
		"another name":      {foreignCertificate, false},
		"signed by another": {namesake.Leaf, false},
	} {
		if got := isOurs(test.certificate); got != test.want {
			t.Errorf("%s: isOurs() = %t, want %t", name, got, test.want)
		}
	}
}
