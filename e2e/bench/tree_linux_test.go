package bench

import (
	"os"
	"os/exec"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestParseStat(t *testing.T) {
	g := NewWithT(t)
	p, err := parseStat([]byte("4242 (a) b (c) S 17 4242 4242 0 -1 4194304 5 6 0 0 100 20 3 4 20 0 1 0 99 12345 512 18446744073709551615 1 1\n"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect([]int{p.pid, p.parent}).To(Equal([]int{4242, 17}))
	g.Expect(p.CPU).To(Equal(1270 * time.Millisecond))
	g.Expect(p.Memory).To(BeNumerically("~", 512*float64(os.Getpagesize())/(1<<20)))
	for _, damaged := range []string{"", "17 sleep S 1", "17 (sleep) S 1"} {
		_, err := parseStat([]byte(damaged))
		g.Expect(err).To(HaveOccurred(), damaged)
	}
}

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
