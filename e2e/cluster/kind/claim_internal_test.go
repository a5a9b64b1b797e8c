package kind

import (
	"io"
	"os"
	"testing"

	. "github.com/onsi/gomega"
)

// named returns the provider of a cluster in the test's own state directory.
func named(t *testing.T, name string) *Provider {
	t.Helper()
	p := NewProvider()
	p.name, p.progress = name, io.Discard
	var err error
	if p.layout, err = layoutOf(name); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestClaim(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("TESTBED_STATE", t.TempDir())
	p := named(t, "one")
	c, err := p.claim()
	g.Expect(err).NotTo(HaveOccurred())
	_, err = p.claim()
	g.Expect(err).To(MatchError(ContainSubstring("another process is making, using or removing the kind cluster one")))
	g.Expect(c.say(unfinished)).To(Succeed())
	c.release() // or was killed

	c, err = p.claim()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.layout.claimed()).To(Equal(unfinished))
	g.Expect(c.complete()).To(Succeed())
	g.Expect(p.layout.claimed()).To(BeEmpty())
	c, err = p.claim()
	g.Expect(err).NotTo(HaveOccurred())
	c.release()
}

// Of the clusters of a state directory, those go whose process was killed.
func TestSweep(t *testing.T) {
	t.Setenv("TESTBED_STATE", t.TempDir())
	for name, test := range map[string]struct {
		said       string // by its claim
		held       bool
		containers string // where its container has its logs; "ours" for our directory, empty where it has no container
		goes, rm   bool   // the directory; the containers
	}{
		"being-made":       {unfinished, true, "ours", false, false},
		"killed":           {unfinished, false, "ours", true, true},
		"killed-early":     {unfinished, false, "", true, false},
		"somebody-elses":   {unfinished, false, "/elsewhere", true, false},
		"in-use":           {temporary, true, "ours", false, false},
		"user-killed":      {temporary, false, "ours", true, true},
		"complete":         {"", false, "ours", false, false},
		"looked-at-killed": {"", true, "ours", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := named(t, name)
			node := inKind(name) + "-control-plane"
			logs := test.containers
			if logs == "ours" {
				logs = p.layout.logs()
			}
			list := ":"
			if logs != "" {
				list = "echo " + node
			}
			asked := fakeDocker(t, "ps*label=io.x-k8s.kind.cluster="+inKind(name)+"*) "+list+" ;;\ninspect*) echo "+logs+" ;;")
			c, err := p.claim()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(c.say(test.said)).To(Succeed())
			if !test.held {
				c.release()
			}
			g.Expect(named(t, "next").sweep(t.Context())).To(Succeed())
			if test.goes {
				g.Expect(string(p.layout)).NotTo(BeADirectory())
			} else {
				g.Expect(string(p.layout)).To(BeADirectory())
			}
			removed := ContainSubstring("rm -f -v " + node)
			if !test.rm {
				removed = Not(removed)
			}
			g.Expect(asked()).To(removed)
			c.release()
			g.Expect(os.RemoveAll(string(p.layout))).To(Succeed())
		})
	}
}
