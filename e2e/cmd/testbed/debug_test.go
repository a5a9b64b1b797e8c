package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/example/operator-testbed/e2e/cluster/supervisor/leftover"
	"github.com/example/operator-testbed/e2e/tier"
)

// TestRunForADebugger stops the operator inside Reconcile, as an editor does, and lets it go on.
func TestRunForADebugger(t *testing.T) {
	tier.All(t)
	t.Parallel()
	b := newBed(t)
	b.output("testbed", "up")
	delve := strings.TrimSpace(b.output("scripts/tool", "tools", "dlv"))

	run := b.command("testbed", "run", "--debugger="+delve, "--debug-address=127.0.0.1:0")
	stderr := &bytes.Buffer{}
	run.Stderr = stderr
	stdout, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = run.Process.Kill() })
	lines := bufio.NewScanner(stdout)
	address := ""
	for address == "" && lines.Scan() {
		_, address, _ = strings.Cut(lines.Text(), "API server listening at: ")
	}
	if address == "" {
		t.Fatalf("no debugger listens: %s", stderr)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for lines.Scan() { // to the end, or the operator's output would fill the pipe
		}
	}()

	// Delve's clients speak JSON-RPC: its Documentation/api/ClientHowto.md.
	client, err := jsonrpc.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var state debuggerState
	file, line := insideReconcile(t, b.root)
	call(t, client, "CreateBreakpoint", map[string]any{"Breakpoint": map[string]any{"file": file, "line": line}}, nil)
	hit := client.Go("RPCServer.Command", map[string]any{"name": "continue"}, &state, nil)

	shell := func(script string) (string, error) {
		out, err := b.command("bash", "-c", "set -euo pipefail\neval \"$(make -s env 2>/dev/null)\"\n"+script).CombinedOutput()
		return string(out), err
	}
	if out, err := shell("kubectl apply -k operator/config/samples"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if <-hit.Done; hit.Error != nil || state.State.CurrentThread == nil {
		t.Fatalf("the operator did not stop in Reconcile: %v, %+v", hit.Error, state)
	}
	var size struct{ Variable struct{ Value string } }
	call(t, client, "Eval", map[string]any{"Scope": map[string]any{"GoroutineID": -1}, "Expr": "*mc.Spec.Size"}, &size)
	if size.Variable.Value != "3" {
		t.Errorf("the size of memcached-sample is %s in the debugger, want 3", size.Variable.Value)
	}

	// What the page about debugging says of a pause.
	if out, err := shell("kubectl create -f - <<< '{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: other}}'"); err == nil || !strings.Contains(out, "failed calling webhook") {
		t.Errorf("a Memcached is created while the webhooks are held: %v: %s", err, out)
	}

	call(t, client, "ClearBreakpoint", map[string]any{"Id": state.State.CurrentThread.Breakpoint.ID}, nil)
	client.Go("RPCServer.Command", map[string]any{"name": "continue"}, &state, nil)
	if out, err := shell("kubectl wait --for=condition=Available --timeout=10m memcached/memcached-sample"); err != nil {
		t.Errorf("the operator does not go on: %v: %s", err, out)
	}
	// A lease would be lost in a pause that is longer than its ten seconds.
	if out, err := shell("kubectl get leases -n operator-system -o name"); err != nil || out != "" {
		t.Errorf("the operator holds a lease: %v: %s", err, out)
	}

	if err := run.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-drained
	_ = run.Wait()
	if code := run.ProcessState.ExitCode(); code != 130 || !strings.HasSuffix(stderr.String(), "testbed: stopped by Ctrl-C: the operator has ended\n") {
		t.Errorf("after Ctrl-C: exit code %d, %s", code, stderr)
	}
	for _, process := range leftover.Processes(b.state) {
		if strings.Contains(process, "memcached-operator") || strings.Contains(process, "dlv") {
			t.Errorf("a process is left: %s", process)
		}
	}
}

// debuggerState is the part that is used of what Delve returns to a command.
type debuggerState struct {
	State struct {
		CurrentThread *struct {
			Breakpoint struct {
				ID int `json:"id"`
			} `json:"breakPoint"`
		} `json:"currentThread"`
	}
}

// call calls a method of Delve's server.
func call(t *testing.T, client *rpc.Client, method string, args, reply any) {
	t.Helper()
	if reply == nil {
		reply = new(any)
	}
	if err := client.Call("RPCServer."+method, args, reply); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

// insideReconcile returns the line of Reconcile that docs/debugging.md names, at which the Memcached has been read. The file is named as
// it is in the executable: launch.json says how editors come to that name.
func insideReconcile(t *testing.T, root string) (file string, line int) {
	t.Helper()
	var launch struct {
		Configurations []struct {
			SubstitutePath []struct{ From, To string }
		}
	}
	text, err := os.ReadFile(filepath.Join(root, ".vscode", "launch.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &launch); err != nil {
		t.Fatal(err)
	}
	rule := launch.Configurations[0].SubstitutePath[0]
	file = strings.Replace("${workspaceFolder}/operator/internal/controller/memcached_controller.go", rule.From, rule.To, 1)
	source, err := os.ReadFile(filepath.Join(root, "operator", "internal", "controller", "memcached_controller.go"))
	if err != nil {
		t.Fatal(err)
	}
	debugging, err := os.ReadFile(filepath.Join(root, "docs", "debugging.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(debugging), "click to the left of the line number of `")
	statement, _, _ := strings.Cut(after, "`")
	before, _, found := strings.Cut(string(source), "\t"+statement+"\n")
	if !found {
		t.Fatalf("docs/debugging.md names a line %q, which Reconcile does not have: choose another one there", statement)
	}
	return file, strings.Count(before, "\n") + 1
}
