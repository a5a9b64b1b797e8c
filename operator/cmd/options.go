package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/distribution/reference"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

const (
	// imageVariable is the environment variable that names the image of memcached.
	imageVariable = "MEMCACHED_IMAGE"

	// defaultImage is the image if imageVariable is empty or not set.
	defaultImage = "docker.io/library/memcached:1.6.39-alpine"

	// webhooksVariable is the environment variable that disables the webhooks, as in every kubebuilder project.
	webhooksVariable = "ENABLE_WEBHOOKS"

	// namespaceVariable is the environment variable that names the operator's own namespace; its pod sets it.
	namespaceVariable = "POD_NAMESPACE"

	// accountVariable is the environment variable that names the operator's ServiceAccount; its pod sets it.
	accountVariable = "POD_SERVICE_ACCOUNT"

	// accountName is the name of the ServiceAccount without the prefix of all names.
	accountName = "controller-manager"

	// watchVariable is the environment variable with the default of --namespaces. A pod can set it to its own namespace.
	watchVariable = "WATCH_NAMESPACE"

	// off is the address that disables an endpoint.
	off = "0"

	// minCertificateDuration is the shortest validity that leaves time to renew a certificate.
	minCertificateDuration = time.Second
)

// options are the settings from the command line and the environment.
type options struct {
	healthProbeAddress string
	metricsAddress     string
	// metricsSecure is whether metrics are served over HTTPS, only to clients that may read them.
	metricsSecure bool
	// namespaces are the namespaces that the operator watches; empty means all.
	namespaces []string
	// namespace is the operator's own namespace; "" if it is not known.
	namespace string
	// namePrefix and nameSuffix are what the names of the operator's own objects start and end with.
	namePrefix, nameSuffix string
	// image is the memcached image, a valid reference.
	image string
	// omitRunAsUser is whether the cluster chooses the user of memcached's pods.
	omitRunAsUser bool
	// recheckInterval is how long the operator waits before it checks a foreign Deployment or retries a refused write.
	recheckInterval time.Duration
	// progressDeadline is how long the pods of a Memcached may go without progress.
	progressDeadline time.Duration
	// progressInterval is how long mere progress waits before it is written to the status.
	progressInterval time.Duration

	webhooks       webhookOptions
	leaderElection leaderElectionOptions
	// maxConcurrentReconciles is how many Memcacheds are reconciled at once, and reconciliationTimeout is how long each may take.
	maxConcurrentReconciles int
	reconciliationTimeout   time.Duration
	log                     zap.Options
}

// webhookOptions are options of the admission webhooks.
type webhookOptions struct {
	enabled bool
	host    string // all addresses of the machine if empty
	port    int
	// certPath is a directory with the server's certificate; "" if the operator issues its own.
	certPath string
	// authorityDuration and certificateDuration are how long the operator's own authority and certificates are valid.
	authorityDuration, certificateDuration time.Duration
	// maxTotalSize limits the sum of sizes in a namespace; 0 means no limit.
	maxTotalSize int64
}

// leaderElectionOptions are options of the leader election.
type leaderElectionOptions struct {
	enabled                                   bool
	namespace                                 string
	leaseDuration, renewDeadline, retryPeriod time.Duration
}

// parseOptions reads the arguments (without the program's name) and the environment. It returns an error message for the user, or
// flag.ErrHelp after it has written the requested help to help.
func parseOptions(arguments []string, getenv func(string) string, help io.Writer) (options, error) {
	var (
		err        error
		result     options
		namespaces string
		webhooksAt string
		flags      = flag.NewFlagSet("manager", flag.ContinueOnError)
	)
	flags.SetOutput(io.Discard)
	flags.StringVar(&result.healthProbeAddress, "health-probe-bind-address", ":8081",
		"The address of /healthz and /readyz; 0 disables them.")
	flags.StringVar(&result.metricsAddress, "metrics-bind-address", off,
		"The address of /metrics; 0 disables it.")
	flags.BoolVar(&result.metricsSecure, "metrics-secure", true,
		"Serve metrics over HTTPS, and only to clients whose token gives them permission to read them; false serves them over HTTP, to everybody.")
	flags.StringVar(&namespaces, "namespaces", getenv(watchVariable),
		"The namespaces to watch, separated by commas; all if empty. The default is $"+watchVariable+".")
	flags.StringVar(&result.namePrefix, "name-prefix", "",
		"The prefix of the names of the operator's own objects. The default is what $"+accountVariable+" has before "+accountName+", or operator- if that is not set. What it has after that is the names' suffix.")
	flags.IntVar(&result.maxConcurrentReconciles, "max-concurrent-reconciles", 8,
		"How many Memcacheds are reconciled at once. A reconcile computes for less than a millisecond, and waits for the API server only when it writes.")
	flags.DurationVar(&result.reconciliationTimeout, "reconciliation-timeout", time.Minute,
		"How long one reconcile may take before it is canceled and retried.")
	flags.DurationVar(&result.recheckInterval, "recheck-interval", 30*time.Second,
		"How long to wait before checking a Deployment that the operator does not own again, the longest wait before retrying a refused write, unless thousands are refused, and the shortest time between repairs of a field that another program keeps changing.")
	flags.DurationVar(&result.progressDeadline, "progress-deadline", 10*time.Minute,
		"How long the pods of a Memcached may go without progress before it is Degraded. During a rollout, the Deployment's spec.progressDeadlineSeconds applies as well.")
	flags.DurationVar(&result.progressInterval, "progress-interval", time.Second,
		"How long mere progress, such as another ready pod, waits until it is written to the status, so that one write covers several pods. A change of a condition is written at once.")
	flags.BoolVar(&result.omitRunAsUser, "omit-run-as-user", false,
		"Leave the user and group of memcached's pods to the cluster, for clusters that assign them, such as OpenShift. Elsewhere, the image must name its user by number.")
	flags.StringVar(&webhooksAt, "webhook-bind-address", ":9443",
		"The address of the admission webhooks.")
	bindWebhooks(flags, &result.webhooks)
	bindLeaderElection(flags, &result.leaderElection)
	config.RegisterFlags(flags)
	result.log.BindFlags(flags)

	if err := flags.Parse(arguments); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(help, "The Memcached operator. It reads these environment variables:\n"+
				"  %s is the memcached image (default %s)\n"+
				"  %s=false disables the admission webhooks\n"+
				"  %s is the namespace that the operator is installed in\n"+
				"  %s is the name of its ServiceAccount\n\n",
				imageVariable, defaultImage, webhooksVariable, namespaceVariable, accountVariable)
			flags.SetOutput(help)
			flags.PrintDefaults()
			return options{}, err
		}
		return options{}, fmt.Errorf("%w (--help lists the flags)", err)
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q: the operator takes flags only (--help lists them)", flags.Arg(0))
	}

	if result.namespaces, err = parseNamespaces(namespaces); err != nil {
		return options{}, err
	}
	result.namespace = getenv(namespaceVariable)
	if result.namespace != "" && len(validation.ValidateNamespaceName(result.namespace, false)) > 0 {
		return options{}, fmt.Errorf("%s=%q is not a namespace name: set it to the namespace that the operator is installed in",
			namespaceVariable, result.namespace)
	}
	if result.maxConcurrentReconciles < 1 {
		return options{}, fmt.Errorf("--max-concurrent-reconciles=%d would do nothing: give 1 or more", result.maxConcurrentReconciles)
	}
	if result.reconciliationTimeout <= 0 {
		return options{}, fmt.Errorf("--reconciliation-timeout=%s leaves no time: give a duration such as 1m", result.reconciliationTimeout)
	}
	if result.recheckInterval < time.Second {
		return options{}, fmt.Errorf("--recheck-interval=%s would keep the operator busy without need: give 1s or more", result.recheckInterval)
	}
	if result.progressDeadline < time.Second {
		return options{}, fmt.Errorf("--progress-deadline=%s is too short for a pod to start: give 1s or more", result.progressDeadline)
	}
	if result.progressInterval < 0 {
		return options{}, fmt.Errorf("--progress-interval=%s is negative: give a duration such as 1s, or 0 to write everything at once", result.progressInterval)
	}
	if text := getenv(webhooksVariable); text != "" {
		if result.webhooks.enabled, err = strconv.ParseBool(text); err != nil {
			return options{}, fmt.Errorf("%s=%q is neither true nor false: set it to false to disable the admission webhooks", webhooksVariable, text)
		}
	}
	if result.webhooks.host, result.webhooks.port, err = splitAddress(webhooksAt); err != nil || result.webhooks.port == 0 {
		return options{}, fmt.Errorf("--webhook-bind-address %q is not an address: give host:port or :port, or disable the webhooks with %s=false",
			webhooksAt, webhooksVariable)
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !given["name-prefix"] {
		if result.namePrefix, result.nameSuffix, err = affixesOf(cmp.Or(getenv(accountVariable), "operator-"+accountName)); err != nil {
			return options{}, err
		}
	}
	// Only the first error is reported, because users fix them one at a time.
	if err := cmp.Or(checkAddresses(result), checkWebhooks(result, given), completeLeaderElection(&result, given)); err != nil {
		return options{}, err
	}

	result.image = getenv(imageVariable)
	if result.image == "" {
		result.image = defaultImage
	}
	// The kubelet parses references with the same function.
	if _, err := reference.ParseNormalizedNamed(result.image); err != nil {
		return options{}, fmt.Errorf("%s=%q is not a valid image reference (%w): give one such as %s",
			imageVariable, result.image, err, defaultImage)
	}
	return result, nil
}

func bindWebhooks(flags *flag.FlagSet, o *webhookOptions) {
	o.enabled = true
	flags.StringVar(&o.certPath, "webhook-cert-path", "",
		"A directory with tls.crt and tls.key for the webhook and metrics servers, such as a mounted Secret of cert-manager; if empty, the operator issues its own certificates.")
	flags.DurationVar(&o.authorityDuration, "webhook-ca-duration", 365*24*time.Hour,
		"How long the operator's certificate authority is valid.")
	flags.DurationVar(&o.certificateDuration, "webhook-certificate-duration", 7*24*time.Hour,
		"How long a certificate of that authority is valid. Both are replaced after two thirds of their validity.")
	flags.Int64Var(&o.maxTotalSize, "max-total-size-per-namespace", 0,
		"The limit for the sum of the sizes of all Memcacheds in a namespace; 0 means no limit. Requests at the same moment may exceed it together.")
}

func bindLeaderElection(flags *flag.FlagSet, o *leaderElectionOptions) {
	flags.BoolVar(&o.enabled, "leader-elect", false,
		"Elect a leader among the replicas. Only the leader reconciles; all replicas serve webhooks.")
	flags.StringVar(&o.namespace, "leader-election-namespace", "",
		"The namespace of the lease; the operator's own namespace if empty.")
	flags.DurationVar(&o.leaseDuration, "leader-election-lease-duration", 15*time.Second,
		"How long the other replicas wait after the last renewal before they take over the lease.")
	flags.DurationVar(&o.renewDeadline, "leader-election-renew-deadline", 10*time.Second,
		"How long the leader tries to renew its lease before it exits.")
	flags.DurationVar(&o.retryPeriod, "leader-election-retry-period", 2*time.Second,
		"How long a replica waits between attempts to acquire or renew the lease.")
}

// affixesOf returns the prefix and the suffix of the names of the operator's objects, which the name of its ServiceAccount has like all
// others.
func affixesOf(account string) (prefix, suffix string, err error) {
	at := strings.LastIndex(account, accountName)
	if at < 0 {
		return "", "", fmt.Errorf("%s=%q does not contain %s, so the prefix of the other objects' names is not known: give it with --name-prefix",
			accountVariable, account, accountName)
	}
	return account[:at], account[at+len(accountName):], nil
}

// nameOf returns the name of an object of the operator, given its name in config.
func (o options) nameOf(object string) string { return o.namePrefix + object + o.nameSuffix }

// parseNamespaces reads names that are separated by commas.
func parseNamespaces(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	namespaces := strings.Split(text, ",")
	for i, namespace := range namespaces {
		if len(validation.ValidateNamespaceName(namespace, false)) > 0 {
			return nil, fmt.Errorf("--namespaces %q: %q is not a namespace name: separate names by single commas, without spaces",
				text, namespace)
		}
		if slices.Contains(namespaces[:i], namespace) {
			return nil, fmt.Errorf("--namespaces %q: %q is listed twice: remove one", text, namespace)
		}
	}
	return namespaces, nil
}

// checkAddresses returns what is wrong with the addresses that the operator listens on.
func checkAddresses(o options) error {
	type endpoint struct {
		flag, address, host string
		port                int
	}
	endpoints := []endpoint{
		{flag: "health-probe-bind-address", address: o.healthProbeAddress},
		{flag: "metrics-bind-address", address: o.metricsAddress},
	}
	endpoints = slices.DeleteFunc(endpoints, func(e endpoint) bool { return e.address == off })
	for i := range endpoints {
		e := &endpoints[i]
		var err error
		if e.host, e.port, err = splitAddress(e.address); err != nil {
			return fmt.Errorf("--%s %q is not an address: give host:port, :port, or 0 to disable it", e.flag, e.address)
		}
	}
	if o.webhooks.enabled {
		endpoints = append(endpoints, endpoint{flag: "webhook-bind-address", host: o.webhooks.host, port: o.webhooks.port})
	}
	for i, b := range endpoints {
		for _, a := range endpoints[:i] {
			// The system chooses another port for each listener on port 0.
			if a.port == b.port && a.port != 0 && (coversHost(a.host, b.host) || coversHost(b.host, a.host)) {
				return fmt.Errorf("--%s and --%s both listen on port %d: give one of them another port", a.flag, b.flag, a.port)
			}
		}
	}
	return nil
}

// coversHost reports whether a listener on host receives the connections to other. An empty host and [::] cover both IPv4 and
// IPv6, and 0.0.0.0 covers IPv4. A name might be any address.
func coversHost(host, other string) bool {
	all, address := net.ParseIP(host), net.ParseIP(other)
	switch {
	case host == other, host == "", all.Equal(net.IPv6unspecified):
		return true
	case all.Equal(net.IPv4zero):
		return address == nil || address.To4() != nil
	}
	return false
}

// splitAddress splits an address into host and port.
func splitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	number, err := strconv.ParseUint(text, 10, 16)
	return host, int(number), err
}

// checkWebhooks returns what is wrong with the webhooks' options. given are the flags that the user gave.
func checkWebhooks(o options, given map[string]bool) error {
	w := o.webhooks
	if w.maxTotalSize < 0 {
		return fmt.Errorf("--max-total-size-per-namespace=%d would forbid every Memcached: give 0 for no limit", w.maxTotalSize)
	}
	if !w.enabled {
		for _, flagName := range []string{"max-total-size-per-namespace", "webhook-cert-path", "webhook-ca-duration", "webhook-certificate-duration"} {
			if given[flagName] {
				return fmt.Errorf("--%s has no effect with %s=false: remove one of them", flagName, webhooksVariable)
			}
		}
		return nil
	}
	if w.certPath != "" {
		for _, flagName := range []string{"webhook-ca-duration", "webhook-certificate-duration"} {
			if given[flagName] {
				return fmt.Errorf("--%s is for certificates that the operator issues, and --webhook-cert-path provides others: remove one of them", flagName)
			}
		}
		return nil
	}
	if w.certificateDuration < minCertificateDuration {
		return fmt.Errorf("--webhook-certificate-duration=%s is too short: give at least %s", w.certificateDuration, minCertificateDuration)
	}
	if w.authorityDuration < 2*w.certificateDuration {
		return fmt.Errorf("--webhook-ca-duration=%s is too short for --webhook-certificate-duration=%s: give at least %s",
			w.authorityDuration, w.certificateDuration, 2*w.certificateDuration)
	}
	if o.namespace == "" {
		return fmt.Errorf("the webhooks need to know the namespace that the operator is installed in: set %s to it, or disable them with %s=false",
			namespaceVariable, webhooksVariable)
	}
	return nil
}

// completeLeaderElection sets defaults that depend on other options, and returns what is wrong. given are the flags that the user
// gave.
func completeLeaderElection(o *options, given map[string]bool) error {
	e := &o.leaderElection
	if !e.enabled {
		for _, flagName := range slices.Sorted(maps.Keys(given)) {
			if strings.HasPrefix(flagName, "leader-election-") {
				return fmt.Errorf("--%s has no effect without --leader-elect: add it, or remove --%[1]s", flagName)
			}
		}
		return nil
	}
	if e.namespace == "" {
		e.namespace = o.namespace
	}
	if e.namespace == "" {
		return fmt.Errorf("--leader-elect needs a namespace for the lease: name one with --leader-election-namespace, or set %s", namespaceVariable)
	}
	if len(validation.ValidateNamespaceName(e.namespace, false)) > 0 {
		return fmt.Errorf("--leader-election-namespace %q is not a namespace name", e.namespace)
	}
	// The Lease stores its duration in whole seconds.
	if e.leaseDuration < time.Second || e.leaseDuration%time.Second != 0 {
		return fmt.Errorf("--leader-election-lease-duration=%s is not in whole seconds: give a duration such as 15s", e.leaseDuration)
	}
	// The library checks which durations fit together, and nothing else in this configuration.
	if _, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          &resourcelock.LeaseLock{LockConfig: resourcelock.ResourceLockConfig{Identity: "any"}},
		LeaseDuration: e.leaseDuration, RenewDeadline: e.renewDeadline, RetryPeriod: e.retryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	}); err != nil {
		return fmt.Errorf("--leader-election-lease-duration=%s, --leader-election-renew-deadline=%s and --leader-election-retry-period=%s: %w",
			e.leaseDuration, e.renewDeadline, e.retryPeriod, err)
	}
	return nil
}
