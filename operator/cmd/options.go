package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/distribution/reference"
	"k8s.io/apimachinery/pkg/api/validation"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

const (
	// imageVariable is the environment variable that names the image of memcached.
	imageVariable = "MEMCACHED_IMAGE"

	// defaultImage is what imageVariable stands for when it is empty or not set.
	defaultImage = "docker.io/library/memcached:1.6.39-alpine"

	// off is the address that turns an endpoint off.
	off = "0"
)

// options are what a user can say to the operator.
type options struct {
	healthProbeAddress string
	metricsAddress     string
	// namespaces are the namespaces that the operator serves; none means all.
	namespaces []string
	// image is the image of memcached, a legal reference.
	image string
	// recheckInterval is after how long the operator looks again at what it can't watch.
	recheckInterval time.Duration

	log zap.Options
}

// parseOptions reads the arguments (without the program's name) and the environment. Its errors are sentences for a user,
// or flag.ErrHelp when help was asked for and has been written to help.
func parseOptions(arguments []string, getenv func(string) string, help io.Writer) (options, error) {
	var (
		result     options
		namespaces string
		flags      = flag.NewFlagSet("manager", flag.ContinueOnError)
	)
	flags.SetOutput(io.Discard)
	flags.StringVar(&result.healthProbeAddress, "health-probe-bind-address", ":8081",
		"The address of /healthz and /readyz; 0 turns them off.")
	flags.StringVar(&result.metricsAddress, "metrics-bind-address", off,
		"The address of /metrics, over HTTP; 0 turns it off.")
	flags.StringVar(&namespaces, "namespaces", "",
		"The namespaces to serve, separated by commas; all if empty.")
	flags.DurationVar(&result.recheckInterval, "recheck-interval", 30*time.Second,
		"After how long to look again at a Deployment that is somebody else's, and the longest wait between two tries of what is refused.")
	config.RegisterFlags(flags)
	result.log.BindFlags(flags)

	if err := flags.Parse(arguments); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(help, "The Memcached operator. %s is the image of memcached (default %s).\n\n", imageVariable, defaultImage)
			flags.SetOutput(help)
			flags.PrintDefaults()
			return options{}, err
		}
		return options{}, fmt.Errorf("%w (--help lists the flags)", err)
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q: the operator takes flags only (--help lists them)", flags.Arg(0))
	}

	for flagName, address := range map[string]string{
		"health-probe-bind-address": result.healthProbeAddress,
		"metrics-bind-address":      result.metricsAddress,
	} {
		if address == off {
			continue
		}
		if _, _, err := net.SplitHostPort(address); err != nil {
			return options{}, fmt.Errorf("--%s %q is no address: give host:port, :port, or 0 to turn it off", flagName, address)
		}
	}
	if result.metricsAddress != off && result.metricsAddress == result.healthProbeAddress {
		return options{}, fmt.Errorf("--metrics-bind-address and --health-probe-bind-address are both %q: give one of them another port",
			result.metricsAddress)
	}

	if result.recheckInterval < time.Second {
		return options{}, fmt.Errorf("--recheck-interval=%s would keep the operator busy for nothing: give 1s or more", result.recheckInterval)
	}

	if namespaces != "" {
		result.namespaces = strings.Split(namespaces, ",")
		for i, namespace := range result.namespaces {
			if len(validation.ValidateNamespaceName(namespace, false)) > 0 {
				return options{}, fmt.Errorf("--namespaces %q: %q is no name of a namespace: separate names by single commas, without spaces",
					namespaces, namespace)
			}
			if slices.Contains(result.namespaces[:i], namespace) {
				return options{}, fmt.Errorf("--namespaces %q: %q is there twice: leave one out", namespaces, namespace)
			}
		}
	}

	result.image = getenv(imageVariable)
	if result.image == "" {
		result.image = defaultImage
	}
	// The kubelet reads references with the same function.
	if _, err := reference.ParseNormalizedNamed(result.image); err != nil {
		return options{}, fmt.Errorf("%s=%q is no image that could be pulled (%w): give a reference such as %s",
			imageVariable, result.image, err, defaultImage)
	}
	return result, nil
}
