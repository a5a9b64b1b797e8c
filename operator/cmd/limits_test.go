package main

import (
	"io"
	"path/filepath"
	"testing"
)

// Each flag accepts the last valid value, and refuses the first invalid one.
func TestLimits(t *testing.T) {
	elect := func(lease, renew, retry string) []string {
		return []string{"--leader-elect", "--leader-election-lease-duration=" + lease, "--leader-election-renew-deadline=" + renew, "--leader-election-retry-period=" + retry}
	}
	webhooks := map[string]string{webhooksVariable: "false"}
	for _, test := range []struct {
		name           string
		variables      map[string]string
		valid, invalid []string
	}{
		{"workers", nil, []string{"--max-concurrent-reconciles=1"}, []string{"--max-concurrent-reconciles=0"}},
		{"time of a reconcile", nil, []string{"--reconciliation-timeout=1ns"}, []string{"--reconciliation-timeout=0s"}},
		{"recheck", nil, []string{"--recheck-interval=1s"}, []string{"--recheck-interval=999ms"}},
		{"deadline of progress", nil, []string{"--progress-deadline=1s"}, []string{"--progress-deadline=999ms"}},
		{"interval of progress", nil, []string{"--progress-interval=0s"}, []string{"--progress-interval=-1ns"}},
		{"the lowest port", nil, []string{"--webhook-bind-address=:1"}, []string{"--webhook-bind-address=:0"}},
		{"the highest port", nil, []string{"--webhook-bind-address=:65535"}, []string{"--webhook-bind-address=:65536"}},
		{"a port of the webhooks' that nobody listens at", webhooks, []string{"--metrics-bind-address=:9443"}, []string{"--metrics-bind-address=:8081"}},
		{"one address that is off", nil, []string{"--metrics-bind-address=0", "--health-probe-bind-address=0"}, []string{"--metrics-bind-address=:1", "--health-probe-bind-address=:1"}},
		{"an address behind one that is off", nil, []string{"--health-probe-bind-address=0", "--metrics-bind-address=:1"}, []string{"--health-probe-bind-address=0", "--metrics-bind-address=1"}},
		{"the sum of sizes", nil, []string{"--max-total-size-per-namespace=0"}, []string{"--max-total-size-per-namespace=-1"}},
		{"the sum of sizes without webhooks", webhooks, nil, []string{"--max-total-size-per-namespace=1"}},
		{"validity of a certificate", nil, []string{"--webhook-certificate-duration=1s"}, []string{"--webhook-certificate-duration=999ms"}},
		{"validity of an authority", nil, []string{"--webhook-certificate-duration=1h", "--webhook-ca-duration=2h"}, []string{"--webhook-certificate-duration=1h", "--webhook-ca-duration=7199s"}},
		{"lease", nil, elect("1s", "500ms", "100ms"), elect("0s", "-1s", "100ms")},
		{"deadline of the lease", nil, elect("15s", "14s", "1s"), elect("15s", "15s", "1s")},
		{"attempts within the deadline", nil, elect("15s", "12001ms", "10s"), elect("15s", "12s", "10s")},
		{"no pause between attempts", nil, elect("15s", "12s", "1ns"), elect("15s", "12s", "0s")},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := parseOptions(test.valid, environment(test.variables), io.Discard); err != nil {
				t.Errorf("%q: %v", test.valid, err)
			}
			if _, err := parseOptions(test.invalid, environment(test.variables), io.Discard); err == nil {
				t.Errorf("%q is accepted", test.invalid)
			}
		})
	}
}

// A flag that has no effect together with the others is refused.
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
