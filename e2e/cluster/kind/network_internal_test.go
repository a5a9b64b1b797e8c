package kind

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// fakeDocker puts a script on PATH in place of Docker, with the cases of a shell's case statement about what it is asked for. asked
// returns what that was, a line each.
func fakeDocker(t *testing.T, cases string) (asked func() string) {
	t.Helper()
	bin := t.TempDir()
	log := filepath.Join(bin, "asked")
	script := "#!/bin/sh\necho \"$*\" >>" + log + "\ncase \"$*\" in\n" + cases + "\nesac\n"
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv(engineVariable, "docker")
	return func() string {
		said, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(said)
	}
}

// What becomes of the network when a container has left it.
func TestNetworkGoesWithItsLastContainer(t *testing.T) {
	for name, test := range map[string]struct {
		made, users, rm string // the network, if the testbed made it; who is in it; how Docker removes it
		removed, fails  bool
	}{
		"nobody is in it":             {"id", "", "true", true, false},
		"it has gone already":         {"id", "", "echo 'Error: No such network: id' >&2; false", true, false},
		"it can't be removed":         {"id", "", "echo 'Error: no' >&2; false", true, true},
		"a container is in it":        {"id", "f00", "true", false, false},
		"the testbed did not make it": {"", "", "true", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			asked := fakeDocker(t, "network\\ ls*label=*) echo "+test.made+" ;;\nps*) echo "+test.users+" ;;\nnetwork\\ rm*) "+test.rm+" ;;")
			g.Expect(removeNetwork(t.Context()) != nil).To(Equal(test.fails))
			g.Expect(strings.Contains(asked(), "network rm id\n")).To(Equal(test.removed), asked())
		})
	}
}

// It is as kind makes it, as far as the machine can, and marked as the testbed's; one that is there is left as it is.
func TestNetworkIsMade(t *testing.T) {
	const (
		options = "network create --driver=bridge --label=operator-testbed --opt=com.docker.network.bridge.enable_ip_masquerade=true"
		ipv6    = " --ipv6 --subnet=fc00:f853:ccd:e793::/64 kind\n"
	)
	for name, test := range map[string]struct {
		cases   string
		created []string
	}{
		"usually":            {"network\\ inspect*) echo ;;", []string{options + ipv6}},
		"with a smaller MTU": {"network\\ inspect*) echo 1400 ;;", []string{options + " --opt=com.docker.network.driver.mtu=1400" + ipv6}},
		"without IPv6":       {"*ipv6*) false ;;", []string{options + ipv6, options + " kind\n"}},
		"by kind":            {"network\\ create*) false ;;", []string{options + ipv6, options + " kind\n"}},
		"not":                {"network\\ ls*) echo id ;;", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			t.Setenv("KIND_EXPERIMENTAL_DOCKER_NETWORK", "")
			asked := fakeDocker(t, test.cases)
			g.Expect(ensureNetwork(t.Context())).To(Succeed())
			var created []string
			for line := range strings.Lines(asked()) {
				if strings.HasPrefix(line, "network create") {
					created = append(created, line)
				}
			}
			g.Expect(created).To(Equal(test.created))
		})
	}
}
