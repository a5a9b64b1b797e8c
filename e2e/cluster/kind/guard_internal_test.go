package kind

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/reaper"
)

// A cluster that a killed process was making is removed with the run that it belonged to, as soon as the process has let go of it.
func TestGuarded(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("TESTBED_STATE", t.TempDir())
	run := t.TempDir()
	t.Setenv(reaper.Variable, run)
	guards := filepath.Join(run, "guards")
	g.Expect(os.Mkdir(guards, 0o700)).To(Succeed())

	p := named(t, "left")
	node, containers := inKind("left")+"-control-plane", t.TempDir()
	made := filepath.Join(containers, node)
	asked := fakeDocker(t, "ps*label=io.x-k8s.kind.cluster="+inKind("left")+"*) ls "+containers+" ;;\n"+
		"inspect*) echo "+p.layout.logs()+" ;;\nrm*"+node+") rm "+made+" ;;")
	c, err := p.begin(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.ReadDir(guards)).To(HaveLen(1))
	g.Expect(os.WriteFile(made, nil, 0o600)).To(Succeed())

	argument, err := p.guarded()
	g.Expect(err).NotTo(HaveOccurred())
	removed := make(chan error)
	go func() { removed <- removeGuarded(argument) }()
	c.release() // or was killed
	g.Expect(<-removed).To(Succeed())
	g.Expect(asked()).To(ContainSubstring("rm -f -v " + node))
	g.Expect(made).NotTo(BeAnExistingFile())
	g.Expect(string(p.layout)).NotTo(BeADirectory())
	g.Expect(os.ReadDir(guards)).To(BeEmpty())
}
