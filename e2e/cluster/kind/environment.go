package kind

import (
	"os"
	"slices"
	"strings"
)

// proxies are the variables that name a proxy.
var proxies = []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"}

// prepareEnvironment sets what kind's library and the modules that make images read of this process's environment.
func prepareEnvironment() error {
	// Those modules don't look for an engine themselves.
	if err := os.Setenv(engineVariable, Program()); err != nil {
		return err
	}
	// kind passes a proxy on to the nodes, with exceptions for the cluster's own addresses. The local registry is another one.
	for _, name := range proxies {
		if os.Getenv(name) != "" {
			return exceptFromProxy(registryContainer)
		}
	}
	return nil
}

// exceptFromProxy adds a host to those that are reached without the proxy. kind reads the name in lower case only if there is none in
// upper case.
func exceptFromProxy(host string) error {
	exceptions := os.Getenv("NO_PROXY")
	if exceptions == "" {
		exceptions = os.Getenv("no_proxy")
	}
	hosts := strings.FieldsFunc(exceptions, func(r rune) bool { return r == ',' || r == ' ' })
	if slices.Contains(hosts, host) {
		return nil
	}
	return os.Setenv("NO_PROXY", strings.Join(append(hosts, host), ","))
}
