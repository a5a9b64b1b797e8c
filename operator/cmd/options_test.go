package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// environment returns an environment with these variables and the namespace of the pod.
func environment(variables map[string]string) func(string) string {
	return func(name string) string {
		if value, ok := variables[name]; ok || name != namespaceVariable {
			return value
		}
		return "operator-system"
	}
}

func withImage(image string) map[string]string { return map[string]string{imageVariable: image} }

func TestParseOptions(t *testing.T) {
	digest := "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for _, test := range []struct {
		name      string
		arguments []string
		variables map[string]string
		change    func(*options) // of the options without flags and variables
	}{
		{"nothing said", nil, nil, func(*options) {}},
		{"all said",
			[]string{"--health-probe-bind-address=127.0.0.1:1", "--metrics-bind-address=:2", "--metrics-secure=false", "--namespaces=a,b-c", "--name-prefix=p-",
				"--webhook-bind-address=127.0.0.1:3", "--webhook-ca-duration=2h", "--webhook-certificate-duration=1h", "--max-total-size-per-namespace=12",
				"--max-concurrent-reconciles=5", "--reconciliation-timeout=6s", "--recheck-interval=5m", "--progress-deadline=8m", "--progress-interval=2s", "--omit-run-as-user",
				"--leader-elect", "--leader-election-namespace=l", "--leader-election-lease-duration=7s", "--leader-election-renew-deadline=5s", "--leader-election-retry-period=1s"},
			withImage("memcached"),
			func(o *options) {
				o.healthProbeAddress, o.metricsAddress, o.metricsSecure = "127.0.0.1:1", ":2", false
				o.namespaces, o.namePrefix, o.image = []string{"a", "b-c"}, "p-", "memcached"
				o.webhooks = webhookOptions{enabled: true, host: "127.0.0.1", port: 3, authorityDuration: 2 * time.Hour, certificateDuration: time.Hour, maxTotalSize: 12}
				o.maxConcurrentReconciles, o.reconciliationTimeout = 5, 6*time.Second
				o.recheckInterval, o.progressDeadline, o.progressInterval = 5*time.Minute, 8*time.Minute, 2*time.Second
				o.omitRunAsUser = true
				o.leaderElection = leaderElectionOptions{enabled: true, namespace: "l", leaseDuration: 7 * time.Second, renewDeadline: 5 * time.Second, retryPeriod: time.Second}
			}},
		{"both off", []string{"--health-probe-bind-address=0", "--metrics-bind-address=0"}, nil,
			func(o *options) { o.healthProbeAddress = "0" }},
		{"leader election in the own namespace", []string{"--leader-elect"}, nil,
			func(o *options) { o.leaderElection.enabled, o.leaderElection.namespace = true, "operator-system" }},
		{"webhooks off", nil, map[string]string{webhooksVariable: "false"}, func(o *options) { o.webhooks.enabled = false }},
		{"webhooks on", nil, map[string]string{webhooksVariable: "true"}, func(*options) {}},
		{"webhooks off, without a namespace", nil, map[string]string{webhooksVariable: "false", namespaceVariable: ""},
			func(o *options) { o.webhooks.enabled, o.namespace = false, "" }},
		{"webhooks off, and their port taken", []string{"--metrics-bind-address=:9443"}, map[string]string{webhooksVariable: "false"},
			func(o *options) { o.webhooks.enabled, o.metricsAddress = false, ":9443" }},
		{"certificates of others", []string{"--webhook-cert-path=/certs"}, map[string]string{namespaceVariable: ""},
			func(o *options) { o.webhooks.certPath, o.namespace = "/certs", "" }},
		{"the namespace of the pod", nil, map[string]string{watchVariable: "a"}, func(o *options) { o.namespaces = []string{"a"} }},
		{"the flag before the variable", []string{"--namespaces=b"}, map[string]string{watchVariable: "a"}, func(o *options) { o.namespaces = []string{"b"} }},
		{"the prefix of the ServiceAccount", nil, map[string]string{accountVariable: "team-operator-controller-manager"}, func(o *options) { o.namePrefix = "team-operator-" }},
		{"its suffix", nil, map[string]string{accountVariable: "operator-controller-manager-blue"}, func(o *options) { o.nameSuffix = "-blue" }},
		{"no prefix", nil, map[string]string{accountVariable: "controller-manager"}, func(o *options) { o.namePrefix = "" }},
		{"the flag before the ServiceAccount", []string{"--name-prefix=p-"}, map[string]string{accountVariable: "custom"}, func(o *options) { o.namePrefix = "p-" }},
		{"image with registry and port", nil, withImage("localhost:5000/memcached"), func(o *options) { o.image = "localhost:5000/memcached" }},
		{"image with digest", nil, withImage("memcached@" + digest), func(o *options) { o.image = "memcached@" + digest }},
		{"image with tag and digest", nil, withImage("r.example.com:5000/a/b:1@" + digest), func(o *options) { o.image = "r.example.com:5000/a/b:1@" + digest }},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseOptions(test.arguments, environment(test.variables), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			want := options{
				healthProbeAddress: ":8081", metricsAddress: "0", metricsSecure: true, namespace: "operator-system", namePrefix: "operator-", image: defaultImage,
				webhooks:                webhookOptions{enabled: true, port: 9443, authorityDuration: 365 * 24 * time.Hour, certificateDuration: 7 * 24 * time.Hour},
				leaderElection:          leaderElectionOptions{leaseDuration: 15 * time.Second, renewDeadline: 10 * time.Second, retryPeriod: 2 * time.Second},
				maxConcurrentReconciles: 8, reconciliationTimeout: time.Minute, recheckInterval: 30 * time.Second, progressDeadline: 10 * time.Minute, progressInterval: time.Second,
			}
			test.change(&want)
			got.log = zap.Options{} // functions
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestWrongOptions(t *testing.T) {
	for _, test := range []struct {
		name      string
		arguments []string
		variables map[string]string
		want      string
	}{
		{"unknown flag", []string{"--no-such-flag"}, nil, "flag provided but not defined: -no-such-flag (--help lists the flags)"},
		{"argument", []string{"start"}, nil, `unexpected argument "start"`},
		{"another ServiceAccount", nil, map[string]string{accountVariable: "custom"}, `POD_SERVICE_ACCOUNT="custom" does not contain controller-manager`},
		{"address", []string{"--metrics-bind-address=8080"}, nil, `--metrics-bind-address "8080" is not an address`},
		{"address behind one that is off", []string{"--health-probe-bind-address=0", "--metrics-bind-address=8080"}, nil, `--metrics-bind-address "8080" is not an address`},
		{"the same address twice", []string{"--metrics-bind-address=:8081"}, nil, "--health-probe-bind-address and --metrics-bind-address both listen on port 8081"},
		{"the webhooks' port twice", []string{"--metrics-bind-address=127.0.0.1:9443"}, nil, "--metrics-bind-address and --webhook-bind-address both listen on port 9443"},
		{"the webhooks' port", []string{"--webhook-bind-address=:65536"}, nil, `--webhook-bind-address ":65536" is not an address`},
		{"the webhooks' address", []string{"--webhook-bind-address=9443"}, nil, `--webhook-bind-address "9443" is not an address`},
		{"webhooks neither on nor off", nil, map[string]string{webhooksVariable: "no"}, `ENABLE_WEBHOOKS="no" is neither true nor false`},
		{"webhooks without a namespace", nil, map[string]string{namespaceVariable: ""}, "set POD_NAMESPACE to it, or disable them with ENABLE_WEBHOOKS=false"},
		{"a limit without webhooks", []string{"--max-total-size-per-namespace=1"}, map[string]string{webhooksVariable: "false"}, "has no effect with ENABLE_WEBHOOKS=false"},
		{"a negative limit", []string{"--max-total-size-per-namespace=-1"}, nil, "would forbid every Memcached"},
		{"durations of others' certificates", []string{"--webhook-cert-path=/certs", "--webhook-ca-duration=1h"}, nil, "remove one of them"},
		{"short certificates", []string{"--webhook-certificate-duration=1ms"}, nil, "is too short: give at least 1s"},
		{"authorities that are shorter than certificates", []string{"--webhook-ca-duration=1h", "--webhook-certificate-duration=1h"}, nil, "give at least 2h0m0s"},
		{"the operator's namespace", nil, map[string]string{namespaceVariable: "A"}, `POD_NAMESPACE="A" is not a namespace name`},
		{"namespace", []string{"--namespaces=a,B"}, nil, `"B" is not a namespace name`},
		{"namespace by its variable", nil, map[string]string{watchVariable: "B"}, `"B" is not a namespace name`},
		{"space between namespaces", []string{"--namespaces=a, b"}, nil, `" b" is not a namespace name`},
		{"comma at the end", []string{"--namespaces=a,"}, nil, `"" is not a namespace name`},
		{"namespace twice", []string{"--namespaces=a,b,a"}, nil, `"a" is listed twice`},
		{"no workers", []string{"--max-concurrent-reconciles=0"}, nil, "--max-concurrent-reconciles=0 would do nothing"},
		{"no time", []string{"--reconciliation-timeout=0s"}, nil, "--reconciliation-timeout=0s leaves no time"},
		{"no time to start", []string{"--progress-deadline=10ms"}, nil, "--progress-deadline=10ms is too short for a pod to start"},
		{"a negative interval", []string{"--progress-interval=-1s"}, nil, "--progress-interval=-1s is negative"},
		{"recheck without a pause", []string{"--recheck-interval=0s"}, nil, "--recheck-interval=0s would keep the operator busy"},
		{"no duration", []string{"--reconciliation-timeout=soon"}, nil, `invalid value "soon"`},
		{"leader election without a namespace", []string{"--leader-elect"}, map[string]string{namespaceVariable: "", webhooksVariable: "false"}, "--leader-elect needs a namespace"},
		{"leader election in no namespace", []string{"--leader-elect", "--leader-election-namespace=A"}, nil, `--leader-election-namespace "A" is not a namespace name`},
		{"a lease without leader election", []string{"--leader-election-namespace=a"}, nil, "--leader-election-namespace has no effect without --leader-elect"},
		{"a lease in half seconds", []string{"--leader-elect", "--leader-election-lease-duration=1500ms"}, nil, "is not in whole seconds"},
		{"a deadline beyond the lease", []string{"--leader-elect", "--leader-election-renew-deadline=15s"}, nil, "--leader-election-renew-deadline=15s and --leader-election-retry-period=2s: leaseDuration must be greater than renewDeadline"},
		{"a single attempt", []string{"--leader-elect", "--leader-election-retry-period=9s"}, nil, "renewDeadline must be greater than retryPeriod"},
		{"log level", []string{"--zap-log-level=loud"}, nil, `invalid log level "loud"`},
		{"image with a space", nil, withImage("mem cached"), `MEMCACHED_IMAGE="mem cached" is not a valid image reference`},
		{"image in upper case", nil, withImage("Memcached"), "must be lowercase"},
		{"image with a short digest", nil, withImage("memcached@sha256:0123"), "is not a valid image reference"},
		{"image that is a space", nil, withImage(" "), "is not a valid image reference"},
		{"image without a name", nil, withImage(":1.6"), "is not a valid image reference"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(test.arguments, environment(test.variables), &stdout, &stderr); code != 2 {
				t.Errorf("exit code = %d, want 2", code)
			}
			text := stderr.String()
			if !strings.HasPrefix(text, "manager: ") || !strings.Contains(text, test.want) || strings.Count(text, "\n") != 1 {
				t.Errorf("stderr = %q, want one line that contains %q", text, test.want)
			}
			if stdout.Len() > 0 {
				t.Errorf("stdout = %q, want nothing", stdout.String())
			}
		})
	}
}

func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"--help"}, environment(nil), &stdout, &stderr); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
	for _, want := range []string{"-namespaces", "-health-probe-bind-address", "-metrics-bind-address", "-kubeconfig", "-zap-log-level", "-leader-elect", "-webhook-bind-address", imageVariable, webhooksVariable, namespaceVariable, defaultImage} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the help does not mention %s", want)
		}
	}
	if stderr.Len() > 0 {
		t.Errorf("stderr = %q, want nothing", stderr.String())
	}
	if _, err := parseOptions([]string{"-h"}, environment(nil), io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("error = %v, want flag.ErrHelp", err)
	}
}

// Two endpoints can't listen on the same port, unless on different addresses.
func TestAddressesThatOverlap(t *testing.T) {
	for _, test := range []struct {
		health, metrics, webhooks string
		want                      string // the two flags, or nothing
	}{
		{":1", ":2", ":3", ""},
		{":1", "127.0.0.1:1", ":3", "--health-probe-bind-address and --metrics-bind-address"},
		{"127.0.0.1:1", ":1", ":3", "--health-probe-bind-address and --metrics-bind-address"},
		{"127.0.0.1:1", "127.0.0.1:1", ":3", "--health-probe-bind-address and --metrics-bind-address"},
		{"127.0.0.1:1", "127.0.0.2:1", ":3", ""},
		{"127.0.0.1:1", "[::]:1", ":3", "--health-probe-bind-address and --metrics-bind-address"},
		{"127.0.0.1:1", "0.0.0.0:1", ":3", "--health-probe-bind-address and --metrics-bind-address"},
		{"localhost:1", "0.0.0.0:1", ":3", "--health-probe-bind-address and --metrics-bind-address"},
		{"[::1]:1", "0.0.0.0:1", ":3", ""},
		{"[::1]:1", "127.0.0.1:1", ":3", ""},
		{":1", ":01", ":3", "--health-probe-bind-address and --metrics-bind-address"},
		{"127.0.0.1:0", "127.0.0.1:0", ":3", ""},
		{"0", ":3", "127.0.0.1:3", "--metrics-bind-address and --webhook-bind-address"},
		{":3", "0", "127.0.0.1:3", "--health-probe-bind-address and --webhook-bind-address"},
		{"0", "127.0.0.2:3", "127.0.0.1:3", ""},
	} {
		arguments := []string{"--health-probe-bind-address=" + test.health, "--metrics-bind-address=" + test.metrics, "--webhook-bind-address=" + test.webhooks}
		_, err := parseOptions(arguments, environment(nil), io.Discard)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want+" both listen on port")) {
			t.Errorf("%q: error = %v, want %q", arguments, err, test.want)
		}
	}
}
