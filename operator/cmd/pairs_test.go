package main

import (
	"fmt"
	"io"
	"maps"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// setting is something that a user sets on the command line or, if it has no dashes, in the environment.
type setting string

func (s setting) variable() (name, value string, ok bool) {
	name, value, _ = strings.Cut(string(s), "=")
	return name, value, !strings.HasPrefix(name, "-")
}

// settings returns everything that can be set, with several values where they differ in more than a number.
func settings(t *testing.T) []setting {
	t.Helper()
	directory, _ := certificateFiles(t)
	return []setting{
		"--health-probe-bind-address=0", "--health-probe-bind-address=:9443", "--health-probe-bind-address=127.0.0.1:8443",
		"--metrics-bind-address=:8443", "--metrics-bind-address=:8081", "--metrics-bind-address=127.0.0.1:9443",
		"--metrics-secure=false", "--metrics-secure=true", "--namespaces=a,b", "--name-prefix=p-",
		"--webhook-bind-address=:8081", "--webhook-bind-address=127.0.0.1:8443", setting("--webhook-cert-path=" + directory),
		"--webhook-ca-duration=720h", "--webhook-certificate-duration=2h", "--max-total-size-per-namespace=12",
		"--max-concurrent-reconciles=5", "--reconciliation-timeout=6s", "--recheck-interval=4m", "--progress-deadline=3m", "--progress-interval=4s", "--omit-run-as-user",
		"--leader-elect", "--leader-election-namespace=l", "--leader-election-lease-duration=70s", "--leader-election-renew-deadline=11s", "--leader-election-retry-period=3s",
		"ENABLE_WEBHOOKS=false", "ENABLE_WEBHOOKS=true", "POD_NAMESPACE=", "WATCH_NAMESPACE=c", "MEMCACHED_IMAGE=localhost:5000/memcached:2",
	}
}

func parseSettings(of ...setting) (options, error) {
	var arguments []string
	variables := map[string]string{}
	for _, s := range of {
		if name, value, ok := s.variable(); ok {
			variables[name] = value
		} else {
			arguments = append(arguments, string(s))
		}
	}
	o, err := parseOptions(arguments, environment(variables), io.Discard)
	o.log = zap.Options{} // functions, which can't be compared
	return o, err
}

// Every flag is among the settings, so that none is left out of the pairs.
func TestSettingsAreComplete(t *testing.T) {
	known := map[string]bool{}
	for _, s := range settings(t) {
		name, _, _ := strings.Cut(string(s), "=")
		known[strings.TrimLeft(name, "-")] = true
	}
	for _, flag := range flagsInHelp(t) {
		if !known[flag] && flag != "kubeconfig" && !strings.HasPrefix(flag, "zap-") {
			t.Errorf("no pair of settings has --%s", flag)
		}
	}
}

// flagsInHelp returns the names of all flags.
func flagsInHelp(t *testing.T) []string {
	t.Helper()
	var help strings.Builder
	if code := run([]string{"--help"}, environment(nil), &help, io.Discard); code != 0 {
		t.Fatalf("--help exits with code %d", code)
	}
	var flags []string
	for line := range strings.Lines(help.String()) {
		if name, ok := strings.CutPrefix(line, "  -"); ok {
			flags = append(flags, strings.Fields(name)[0])
		}
	}
	return flags
}

// Any two settings together are refused, or do what each of them does alone, in either order, and what TestPairsOfSettings verifies of
// each operator is true.
func TestPairsOfSettings(t *testing.T) {
	defaults, err := parseSettings()
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	all := settings(t)
	for i, one := range all {
		for _, other := range all[i+1:] {
			if oneName, _, _ := strings.Cut(string(one), "="); strings.HasPrefix(string(other), oneName+"=") {
				continue // the same setting
			}
			together, err := parseSettings(one, other)
			reversed, errReversed := parseSettings(other, one)
			if fmt.Sprint(err) != fmt.Sprint(errReversed) || !reflect.DeepEqual(together, reversed) {
				t.Errorf("%s %s: the order makes a difference: %+v (%v) or %+v (%v)", one, other, together, err, reversed, errReversed)
			}
			if err != nil {
				continue
			}
			accepted++
			for _, wrong := range slices.Concat(problemsOf(t, together), interference(defaults, together, one, other)) {
				t.Errorf("%s %s: %s", one, other, wrong)
			}
		}
	}
	if pairs := len(all) * (len(all) - 1) / 2; accepted < pairs/2 {
		t.Errorf("of %d pairs, only %d are accepted: the others show nothing", pairs, accepted)
	}
}

// interference returns how two settings together do something else than each of them alone.
func interference(defaults, together options, both ...setting) []string {
	want := flattened(defaults)
	for _, s := range both {
		alone, err := parseSettings(s)
		if err != nil {
			return nil // it needs the other one
		}
		for field, value := range flattened(alone) {
			if value != flattened(defaults)[field] {
				want[field] = value
			}
		}
	}
	var found []string
	got := flattened(together)
	for _, field := range slices.Sorted(maps.Keys(want)) {
		if field == ".namespaces" && both[1] == "WATCH_NAMESPACE=c" && both[0] == "--namespaces=a,b" {
			continue // the variable is the default of the flag
		}
		if got[field] != want[field] {
			found = append(found, fmt.Sprintf("%s is %s, and each alone would make it %s", field, got[field], want[field]))
		}
	}
	return found
}

// flattened returns the fields of the options as text, those of structures by their path.
func flattened(o options) map[string]string {
	fields := map[string]string{}
	var add func(path string, value reflect.Value)
	add = func(path string, value reflect.Value) {
		if value.Kind() != reflect.Struct {
			fields[path] = fmt.Sprint(value)
			return
		}
		for i := range value.NumField() {
			add(path+"."+value.Type().Field(i).Name, value.Field(i))
		}
	}
	add("", reflect.ValueOf(o))
	return fields
}

// problemsOf returns what is wrong with the operator that main would run with the options.
func problemsOf(t *testing.T, o options) []string {
	t.Helper()
	c, err := newCertificate(o)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	must := func(holds bool, format string, args ...any) {
		if !holds {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	m := managerOptions(o, c, runtime.NewScheme(), logr.Discard())
	filter := reflect.ValueOf(m.Metrics.FilterProvider).Pointer()
	protects := filter == reflect.ValueOf(filters.WithAuthenticationAndAuthorization).Pointer()
	must(m.Metrics.SecureServing == o.metricsSecure, "metrics are served over HTTPS: %t, want %t", m.Metrics.SecureServing, o.metricsSecure)
	must(protects == o.metricsSecure, "clients of the metrics are authenticated and authorized: %t, want %t", protects, o.metricsSecure)
	must(len(m.Metrics.TLSOpts) > 0 == o.metricsSecure, "metrics have TLS options: %t, want %t", len(m.Metrics.TLSOpts) > 0, o.metricsSecure)

	sources := 0
	for _, is := range []bool{c.own != nil, c.files != nil} {
		if is {
			sources++
		}
	}
	must((sources == 1) == o.webhooks.enabled && sources < 2, "there are %d sources of the certificate, with webhooks: %t", sources, o.webhooks.enabled)
	must(!o.leaderElection.enabled || m.LeaderElection && m.LeaderElectionNamespace != "", "the leader's lease has no namespace")

	server := m.WebhookServer.(*drainingServer).Server.(*webhook.DefaultServer).Options
	addresses := map[string]string{"health": m.HealthProbeBindAddress, "metrics": m.Metrics.BindAddress}
	if o.webhooks.enabled {
		addresses["webhooks"] = net.JoinHostPort(server.Host, fmt.Sprint(server.Port))
	}
	taken := map[string]string{}
	for _, endpoint := range slices.Sorted(maps.Keys(addresses)) {
		if addresses[endpoint] == off {
			continue
		}
		_, port, err := net.SplitHostPort(addresses[endpoint])
		must(err == nil, "%s: %v", endpoint, err)
		// No two of these settings name different addresses of the machine, so no two endpoints can share a port.
		must(taken[port] == "", "%s and %s both listen on port %s", taken[port], endpoint, port)
		taken[port] = endpoint
	}
	return found
}
