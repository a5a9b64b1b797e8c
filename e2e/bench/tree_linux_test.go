package bench

import (
	"os/exec"
	"testing"

	. "github.com/onsi/gomega"
)

// A shell that has waited for a child that used CPU time has used it as well, although the child is gone.
func TestTreeUsage(t *testing.T) {
	shell := exec.CommandContext(t.Context(), "sh", "-c", "(i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done); echo; read line")
	stdin, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	g := NewWithT(t)
	_, err = stdout.Read(make([]byte, 1)) // the child has exited
	g.Expect(err).NotTo(HaveOccurred())
	used, err := TreeUsage(t.Context(), shell.Process.Pid)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(used.CPU).To(BeNumerically(">", 0))
	g.Expect(used.Memory).To(BeNumerically(">", 0))
	g.Expect(stdin.Close()).To(Succeed())
	_ = shell.Wait() // read fails at the end of its input
	_, err = TreeUsage(t.Context(), shell.Process.Pid)
	g.Expect(err).To(MatchError(ContainSubstring("is not running")))
}
