package nodeimage

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/example/operator-testbed/kind/build/program"
)

// goVersion is the toolchain's, which may be another than this program's.
func goVersion(ctx context.Context) (string, error) {
	version, err := program.Output(ctx, "go", "env", "GOVERSION")
	return strings.TrimSpace(string(version)), err
}

// kubernetesPrograms builds a node's part of Kubernetes, and returns the folder of
// its programs. The command shows its own progress.
func kubernetesPrograms(ctx context.Context, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "run", ".", "-programs=node", "-until-eof")
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	// The pipe's end is the other way to tell it to stop: go run passes no signal on.
	alive, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	defer alive.Close()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return errors.Join(alive.Close(), syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)) }
	cmd.WaitDelay = 10 * time.Second
	dir, err := cmd.Output()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", errors.New("Kubernetes could not be built: the message above names the cause") //nolint:staticcheck // a name
	}
	return strings.TrimSpace(string(dir)), nil
}
