package kind

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"
)

// kind passes these variables on to the nodes, whose containerd pulls from the local registry by the name of its container.
func TestRegistryIsReachedWithoutProxy(t *testing.T) {
	for name, test := range map[string]struct {
		environment map[string]string
		want        string
	}{
		"no proxy":                       {nil, ""},
		"no proxy, and exceptions":       {map[string]string{"NO_PROXY": "example.com"}, "example.com"},
		"a proxy":                        {map[string]string{"HTTP_PROXY": "http://proxy:3128"}, registryContainer},
		"a proxy, in lower case":         {map[string]string{"https_proxy": "http://proxy:3128"}, registryContainer},
		"exceptions":                     {map[string]string{"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "localhost, example.com"}, "localhost,example.com," + registryContainer},
		"exceptions in lower case":       {map[string]string{"HTTPS_PROXY": "http://proxy:3128", "no_proxy": "example.com"}, "example.com," + registryContainer},
		"the registry is excepted twice": {map[string]string{"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": registryContainer}, registryContainer},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			for _, variable := range append([]string{"NO_PROXY", "no_proxy", engineVariable}, proxies...) {
				t.Setenv(variable, test.environment[variable])
			}
			g.Expect(prepareEnvironment()).To(Succeed())
			g.Expect(os.Getenv("NO_PROXY")).To(Equal(test.want))
			g.Expect(os.Getenv(engineVariable)).To(Equal(Program()))
		})
	}
}
