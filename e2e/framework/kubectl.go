package framework

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/example/operator-testbed/e2e/cluster"
)

// command matches a command of kubectl in a message for people.
var command = regexp.MustCompile(`\bkubectl( [\w./:=-]+)+`)

// Advice returns the kubectl commands that a message recommends.
func Advice(message string) []string {
	var commands []string
	for _, found := range command.FindAllString(message, -1) {
		commands = append(commands, strings.TrimRight(found, ".:"))
	}
	return commands
}

// Kubectl runs a kubectl command, such as one that [Advice] returns, as an administrator in the feature's namespace. It skips the test if
// no program can be compiled, because kubectl may have to be.
func (s *Scope) Kubectl(ctx context.Context, command string) {
	s.Helper()
	s.NeedsGo()
	program, err := cluster.Kubectl(ctx)
	s.must(err)
	arguments := append([]string{"--kubeconfig=" + s.Kubeconfig, "--namespace=" + s.Namespace}, strings.Fields(command)[1:]...)
	kubectl := exec.CommandContext(ctx, program, arguments...)
	kubectl.Env = append(os.Environ(), "KUBECACHEDIR="+s.TempDir())
	if output, err := kubectl.CombinedOutput(); err != nil {
		s.Fatalf("expected %s to work; last seen: %v: %s", command, err, output)
	}
}
