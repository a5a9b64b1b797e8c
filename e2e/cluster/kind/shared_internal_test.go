package kind

import (
	"testing"

	. "github.com/onsi/gomega"
)

// The registry is removed with the last cluster, but not while another cluster is being made.
func TestWhatIsSharedGoesWithTheLast(t *testing.T) {
	const (
		other    = "ps*label=io.x-k8s.kind.cluster\\ *) echo operator-testbed-other ;;\n"
		registry = "ps*name=*registry*) echo id-of-registry ;;\n"
	)
	for name, test := range map[string]struct {
		cases  string
		making bool
		goes   bool
	}{
		"the last":               {registry, false, true},
		"beside another":         {other + registry, false, false},
		"beside one that begins": {registry, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			t.Setenv("TESTBED_STATE", t.TempDir())
			asked := fakeDocker(t, test.cases)
			p := named(t, "last")
			release := func() {}
			if test.making {
				var err error
				release, err = named(t, "next").layout.share()
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(p.removeShared(t.Context())).To(Succeed())
			release()
			removed := ContainSubstring("rm --force --volumes id-of-registry")
			if !test.goes {
				removed = Not(removed)
			}
			g.Expect(asked()).To(removed)
		})
	}
}
