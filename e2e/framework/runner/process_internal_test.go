package runner

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/example/operator-testbed/e2e/framework/manifest"
)

func TestProcess(t *testing.T) {
	manager := manifest.Manager{Args: []string{"--leader-elect"}, Env: []string{"COLOR=red"}}
	for name, tc := range map[string]struct {
		options   Options
		at        addresses
		args, env []string
	}{
		"without webhooks": {
			at:   addresses{health: "127.0.0.1:1"},
			args: []string{"--leader-elect", "--health-probe-bind-address=127.0.0.1:1"},
			env:  []string{"COLOR=red", "KUBECONFIG=k", "ENABLE_WEBHOOKS=false"},
		},
		"with all": {
			at: addresses{health: "127.0.0.1:1", metrics: "127.0.0.1:2", webhook: "127.0.0.1:3"},
			args: []string{"--leader-elect", "--health-probe-bind-address=127.0.0.1:1", "--metrics-bind-address=127.0.0.1:2",
				"--webhook-bind-address=127.0.0.1:3"},
			env: []string{"COLOR=red", "KUBECONFIG=k"},
		},
		"with webhooks that no flag moves": {
			at:   addresses{health: "127.0.0.1:1", webhook: "127.0.0.1:9443", fixed: true},
			args: []string{"--leader-elect", "--health-probe-bind-address=127.0.0.1:1"},
			env:  []string{"COLOR=red", "KUBECONFIG=k"},
		},
		"what the caller says prevails": {
			options: Options{Args: []string{"--leader-elect=false"}, Env: []string{"COLOR=blue", "ENABLE_WEBHOOKS=true"}},
			at:      addresses{health: "127.0.0.1:1"},
			args:    []string{"--leader-elect", "--health-probe-bind-address=127.0.0.1:1", "--leader-elect=false"},
			env:     []string{"COLOR=red", "KUBECONFIG=k", "ENABLE_WEBHOOKS=false", "COLOR=blue", "ENABLE_WEBHOOKS=true"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := process("operator-2", tc.options, manager, "k", tc.at)
			g.Expect(p.Name).To(Equal("operator-2"))
			g.Expect(p.Args).To(Equal(tc.args))
			g.Expect(p.Env[len(p.Env)-len(tc.env):]).To(Equal(tc.env))
		})
	}
}

func TestChooseAddresses(t *testing.T) {
	for name, tc := range map[string]struct {
		args        []string
		webhook     bool
		fixedPort   string
		wantMetrics bool
		wantWebhook types.GomegaMatcher
	}{
		"nothing is called for":     {args: []string{"--leader-elect"}},
		"metrics":                   {args: []string{"--metrics-bind-address=:8443"}, wantMetrics: true},
		"metrics, in two words":     {args: []string{"-metrics-bind-address", ":8443"}, wantMetrics: true},
		"metrics are off":           {args: []string{"--metrics-bind-address=0"}},
		"metrics are off at last":   {args: []string{"--metrics-bind-address=:8443", "--metrics-bind-address=0"}},
		"a flag that looks like it": {args: []string{"--metrics-bind-address-too=:8443", "metrics-bind-address=:1"}},
		"webhooks":                  {webhook: true, wantWebhook: HavePrefix("127.0.0.1:")},
		"webhooks at their port":    {webhook: true, fixedPort: "9443", wantWebhook: Equal("127.0.0.1:9443")},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			at, err := chooseAddresses(manifest.Manager{Args: tc.args}, tc.webhook, tc.fixedPort)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(at.health).To(HavePrefix("127.0.0.1:"))
			serves := map[bool]types.GomegaMatcher{true: HavePrefix("127.0.0.1:"), false: BeEmpty()}
			g.Expect(at.metrics).To(serves[tc.wantMetrics])
			g.Expect(at.webhook).To(cmp.Or(tc.wantWebhook, BeEmpty()))
		})
	}
}

// TestLastWordsOfALongLog: of a log that is longer than anybody reads, only the end is read, and of a line only the start.
func TestLastWordsOfALongLog(t *testing.T) {
	g := NewWithT(t)
	r, _ := confinedReplica(t)
	g.Expect(os.MkdirAll(filepath.Dir(r.LogFile()), 0o700)).To(Succeed())
	log := "E0101 long ago\n" + strings.Repeat("x", 8<<20) + "\npanic: " + strings.Repeat("\x00", 2<<20) + "\nend\n"
	g.Expect(os.WriteFile(r.LogFile(), []byte(log), 0o600)).To(Succeed())
	words := r.lastWords()
	g.Expect(len(words)).To(BeNumerically("<", 5000))
	g.Expect(words).To(Equal("end"), "the line that is about an error began before what is read")
	log = "earlier\npanic: " + strings.Repeat("x", 10_000)
	g.Expect(os.WriteFile(r.LogFile(), []byte(log), 0o600)).To(Succeed())
	r.earlier = len("earlier\n")
	g.Expect(r.lastWords()).To(And(HavePrefix("panic: xxx"), HaveSuffix("x…"), HaveLen(longestLine+len("…"))))
}
