package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// operator returns the command that runs the operator as a process.
func operator(t *testing.T, kubeconfig string, arguments ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], arguments...)
	command.Env = append(os.Environ(), asOperator+"=1", "KUBECONFIG="+kubeconfig, namespaceVariable+"=operator-system")
	return command
}

func TestExitsWithoutACluster(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(nowhere, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"c",
		"contexts":[{"name":"c","context":{"cluster":"c"}}],"clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, kubeconfig string
		arguments        []string
		want             string
	}{
		{"no cluster", filepath.Join(t.TempDir(), "none"), nil, "manager: find a cluster: "},
		{"a cluster that is down", nowhere, nil, "connection refused"},
		{"no certificate", nowhere, []string{"--webhook-cert-path=" + t.TempDir()}, "manager: read the certificate in --webhook-cert-path"},
	} {
		t.Run(test.name, func(t *testing.T) {
			output, err := operator(t, test.kubeconfig, append(test.arguments, "--health-probe-bind-address=0")...).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(output), test.want) {
				t.Errorf("%v, want exit code 1 and %q; output:\n%s", err, test.want, output)
			}
		})
	}
}
