package main

import (
	"io"
	"path/filepath"
	"testing"
)

// Each flag accepts its least value, and not the one below it.
func TestLimits(t *testing.T) {
	for name, test := range map[string]struct {
		least, below []string
	}{
		"workers":              {[]string{"--max-concurrent-reconciles=1"}, []string{"--max-concurrent-reconciles=-1"}},
		"time for a Memcached": {[]string{"--reconciliation-timeout=1ns"}, []string{"--reconciliation-timeout=-1s"}},
		"recheck interval":     {[]string{"--recheck-interval=1s"}, []string{"--recheck-interval=999ms"}},
		"progress deadline":    {[]string{"--progress-deadline=1s"}, []string{"--progress-deadline=999ms"}},
		"progress interval":    {[]string{"--progress-interval=0s"}, []string{"--progress-interval=-1ns"}},
		"port":                 {[]string{"--webhook-bind-address=:1"}, []string{"--webhook-bind-address=:0"}},
		"largest port":         {[]string{"--webhook-bind-address=:65535"}, []string{"--webhook-bind-address=:65536"}},
		"certificates":         {[]string{"--webhook-certificate-duration=1s"}, []string{"--webhook-certificate-duration=999ms"}},
		"authorities": {
			[]string{"--webhook-certificate-duration=1h", "--webhook-ca-duration=2h"},
			[]string{"--webhook-certificate-duration=1h", "--webhook-ca-duration=1h59m59s"},
		},
		"the lease": {
			[]string{"--leader-elect", "--leader-election-lease-duration=1s", "--leader-election-renew-deadline=900ms", "--leader-election-retry-period=100ms"},
			[]string{"--leader-elect", "--leader-election-lease-duration=0s", "--leader-election-renew-deadline=-1s", "--leader-election-retry-period=-2s"},
		},
		"its renewal": {
			[]string{"--leader-elect", "--leader-election-renew-deadline=14999ms"},
			[]string{"--leader-elect", "--leader-election-renew-deadline=15s"},
		},
		"tries": {
			[]string{"--leader-elect", "--leader-election-retry-period=1ns"},
			[]string{"--leader-elect", "--leader-election-retry-period=0s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseOptions(test.least, environment(nil), io.Discard); err != nil {
				t.Errorf("%q: %v", test.least, err)
			}
			if _, err := parseOptions(test.below, environment(nil), io.Discard); err == nil {
				t.Errorf("%q is accepted", test.below)
			}
		})
	}
}

// A flag that would have no effect beside the others is refused.
func TestFlagsWithoutEffect(t *testing.T) {
	for _, arguments := range [][]string{
		{"--leader-election-namespace=a"}, {"--leader-election-lease-duration=15s"}, {"--leader-election-renew-deadline=10s"}, {"--leader-election-retry-period=2s"},
		{"--webhook-cert-path=/certs", "--webhook-ca-duration=8760h"}, {"--webhook-cert-path=/certs", "--webhook-certificate-duration=168h"},
	} {
		if _, err := parseOptions(arguments, environment(nil), io.Discard); err == nil {
			t.Errorf("%q is accepted", arguments)
		}
	}
	for _, argument := range []string{"--max-total-size-per-namespace=1", "--webhook-cert-path=/certs", "--webhook-ca-duration=8760h", "--webhook-certificate-duration=168h"} {
		if _, err := parseOptions([]string{argument}, environment(map[string]string{webhooksVariable: "false"}), io.Discard); err == nil {
			t.Errorf("%s is accepted without webhooks", argument)
		}
	}
}

// A failure is visible in the exit code.
func TestExitCode(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	if code := run(nil, environment(nil), io.Discard, io.Discard); code != 1 {
		t.Errorf("exit code %d without a cluster, want 1", code)
	}
}
