package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

// Every duration has its own value in everyFlagSet, so that a test notices when one takes the place of another.
func TestDurationsDiffer(t *testing.T) {
	given := map[string]time.Duration{}
	for _, argument := range everyFlagSet {
		name, value, _ := strings.Cut(strings.TrimLeft(argument, "-"), "=")
		if duration, err := time.ParseDuration(value); err == nil {
			given[name] = duration
		}
	}
	var help strings.Builder
	if code := run([]string{"--help"}, environment(nil), &help, io.Discard); code != 0 {
		t.Fatalf("--help exits with code %d", code)
	}
	names := map[time.Duration]string{failureGrace: "failureGrace", drainLeast: "drainLeast", drainLimit: "drainLimit"}
	durations := 0
	for line := range strings.Lines(help.String()) {
		// A flag's line has its name and its type, and its default is in the line after it.
		words := strings.Fields(line)
		if len(words) != 2 || words[1] != "duration" || strings.HasPrefix(words[0], "-zap-") {
			continue
		}
		durations++
		name := strings.TrimLeft(words[0], "-")
		value, ok := given[name]
		if !ok {
			t.Errorf("no test sets --%s", name)
			continue
		}
		if other := names[value]; other != "" {
			t.Errorf("--%s and %s are both %s in the tests", name, other, value)
		}
		names[value] = name
		_, text, _ := strings.Cut(help.String(), line)
		if strings.Contains(strings.SplitN(text, "\n  -", 2)[0], "(default "+value.String()+")") {
			t.Errorf("the tests set --%s to its default", name)
		}
	}
	if durations < 9 {
		t.Errorf("the help lists %d durations, want those of certificates, reconciles and the lease", durations)
	}
}

// A certificate and its authority are replaced after two thirds of the time that their flags give them, to the second.
func TestCertificateDurationsTakeEffect(t *testing.T) {
	r := newReadiness(t, "--webhook-ca-duration=5h", "--webhook-certificate-duration=2h")
	r.install()
	r.reconcile()
	start := r.clock.Now()
	served := func() []byte {
		t.Helper()
		certificate, err := r.reconciler.Source.GetCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		return certificate.Certificate[0]
	}
	first := served()
	authorities := func() int {
		t.Helper()
		return bytes.Count(r.secret().Data["ca.crt"], []byte("BEGIN CERTIFICATE"))
	}
	for _, step := range []struct {
		after       time.Duration
		renewed     bool
		authorities int
	}{
		{80*time.Minute - 2*time.Second, false, 1},
		{80 * time.Minute, true, 1},
		{200*time.Minute - 2*time.Second, true, 1},
		{200 * time.Minute, true, 2},
		{5*time.Hour - 2*time.Second, true, 2},
		{5 * time.Hour, true, 1},
	} {
		r.clock.SetTime(start.Add(step.after))
		r.reconcile()
		if renewed := !bytes.Equal(served(), first); renewed != step.renewed {
			t.Errorf("after %s, there is a new certificate: %t, want %t", step.after, renewed, step.renewed)
		}
		if n := authorities(); n != step.authorities {
			t.Errorf("after %s, there are %d authorities, want %d", step.after, n, step.authorities)
		}
	}
}
