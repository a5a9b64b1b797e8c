package main

import (
	"bufio"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/example/operator-testbed/e2e/tier"
)

// The lease of an operator that was killed has to expire before another one leads. Until then, testbed run says who holds it, and so
// does testbed demo.
func TestLeaseOfAKilledOperator(t *testing.T) {
	tier.All(t)
	t.Parallel()
	b := newBed(t)
	b.output("testbed", "demo")
	b.killOperator()

	run := b.command("testbed", "run")
	stderr, err := run.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = run.Process.Kill() })
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	waits := regexp.MustCompile(`^testbed: the finished operator \(operator/\) is ready, and waits for the lease operator-system/memcached-operator\.cache\.example\.com, which ` + regexp.QuoteMeta(host) + `_[-0-9a-f]+ holds; Ctrl-C stops it$`)
	lines := bufio.NewScanner(stderr)
	var said []string
	for lines.Scan() && !strings.Contains(lines.Text(), " is ready") {
		said = append(said, lines.Text())
	}
	if !waits.MatchString(lines.Text()) {
		t.Fatalf("run said %q, after %q", lines.Text(), said)
	}
	if lines.Scan(); lines.Text() != "testbed: the operator leads: it has acquired the lease operator-system/memcached-operator.cache.example.com" {
		t.Fatalf("then run said %q", lines.Text())
	}
	if err := run.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // to the end
	}
	_ = run.Wait() // Ctrl-C's exit code

	b.output("testbed", "demo")
	b.killOperator()
	if out := b.output("testbed", "demo"); !regexp.MustCompile(`Operator +waits for the lease \S+, which \S+ holds`).MatchString(out) {
		t.Errorf("the demo does not say what the operator waits for:\n%s", out)
	}
}

// killOperator kills the operator beside the cluster by the process ID that testbed status shows.
func (b bed) killOperator() {
	b.t.Helper()
	status := b.output("testbed", "status")
	match := regexp.MustCompile(`(?m)^operator +Running +(\d+) `).FindStringSubmatch(status)
	if match == nil {
		b.t.Fatalf("no operator runs:\n%s", status)
	}
	pid, err := strconv.Atoi(match[1])
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
