package pool_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/pool"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/host/home"
	"github.com/example/operator-testbed/e2e/reaper"
)

// roleVariable is set in the environment of the programs that these tests start, which are this test binary again.
const roleVariable = "POOL_TEST_ROLE"

func TestMain(m *testing.M) {
	supervisor.Main()
	var err error
	switch os.Getenv(roleVariable) {
	case "owner":
		err = own(os.Args[1:])
	case "suite":
		err = borrow(os.Args[1:])
	default:
		os.Exit(reaper.Run(m))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// own runs a command with a pool, as testbed does.
func own(command []string) error {
	ctx := context.Background()
	p, err := pool.Start(ctx, os.Stderr)
	if err != nil {
		return err
	}
	with := exec.Command(command[0], command[1:]...)
	with.Stdout = os.Stdout
	fmt.Println(p.Dir())
	return errors.Join(p.Run(ctx, with), p.Close(ctx))
}

// borrow borrows a cluster, runs something beside it, prints its name, and holds it until standard input ends.
func borrow(args []string) error {
	ctx := context.Background()
	loan, err := pool.Borrow(ctx, args[0], args[1:]...)
	if err != nil {
		return err
	}
	cluster, err := embedded.Attach(loan.Cluster)
	if err == nil {
		err = cluster.Supervisor().Run(ctx, supervisor.Process{Name: "operator", Path: "sleep", Args: []string{"1000"}})
	}
	if err != nil {
		return err
	}
	fmt.Println(loan.Cluster)
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, loan.Return())
}

// program is one that a test has started.
type program struct {
	*exec.Cmd

	stdin io.Closer
	lines *bufio.Scanner
}

// start starts this test binary again.
func start(t *testing.T, role string, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.Command(os.Args[0], args...)}
	p.Env = append(os.Environ(), roleVariable+"="+role)
	p.Stderr = os.Stderr
	stdin, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin, p.lines = stdin, bufio.NewScanner(stdout)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	return p
}

// line returns the next line that a program prints.
func (p *program) line(t *testing.T) string {
	t.Helper()
	if !p.lines.Scan() {
		t.Fatalf("expected a line of %s, got none: %v", strings.Join(p.Args, " "), p.lines.Err())
	}
	return p.lines.Text()
}

// ownState gives a test a state directory for itself.
func ownState(t *testing.T) string {
	t.Helper()
	state := t.TempDir()
	t.Setenv(home.StateVariable, state)
	return state
}
