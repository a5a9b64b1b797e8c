package kind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// docker runs the command of the container engine, as kind's library does, and returns what it prints.
func docker(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, Program(), args...)
	// A terminal's Ctrl-C reaches it through ctx only.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		if why := reasonIn(stderr.String()); why != "" {
			return "", fmt.Errorf("docker %s: %s", args[0], why)
		}
		return "", fmt.Errorf("docker %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(stdout)), nil
}

// reasonIn returns why a Docker command failed: the last line that it printed, except for a hint where to read on.
func reasonIn(printed string) string {
	for _, line := range slices.Backward(lines(printed)) {
		if !strings.HasPrefix(line, "Run 'docker ") && !strings.HasPrefix(line, "See 'docker ") {
			return strings.TrimPrefix(line, "docker: ")
		}
	}
	return ""
}

// CheckDocker returns an error that says why Docker can't be used, and how to fix it.
func CheckDocker(ctx context.Context) error {
	if _, err := exec.LookPath(Program()); err != nil {
		return fmt.Errorf("there is no %s on PATH: install Docker, or run `make docker-up` on Debian or Ubuntu", Program())
	}
	_, err := docker(ctx, "ps", "--quiet") // an engine without a server has no version of one
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case strings.Contains(err.Error(), "permission denied"):
		return errors.New("you may not use Docker on this machine: run `sudo usermod -aG docker $USER` and log in again")
	}
	return errors.New("Docker does not answer: start it, or run `make docker-up` on a Debian or Ubuntu that has none") //nolint:staticcheck // a name
}

// lines are the lines of a text that are not empty.
func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
}
