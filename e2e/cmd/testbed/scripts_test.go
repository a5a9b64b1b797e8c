package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/example/operator-testbed/e2e/cluster"
)

// TestRunningTests reports what `go test -json` is doing from what it has printed so far.
func TestRunningTests(t *testing.T) {
	root, err := cluster.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const (
		start   = `{"Time":"t","Action":"start","Package":"github.com/example/operator-testbed/e2e/framework/audit"}` + "\n"
		run     = `{"Time":"t","Action":"run","Package":"github.com/example/operator-testbed/e2e/framework/audit","Test":"TestOne"}` + "\n"
		step    = `{"Time":"t","Action":"run","Package":"github.com/example/operator-testbed/e2e/framework/audit","Test":"TestOne/step"}` + "\n"
		pause   = `{"Time":"t","Action":"pause","Package":"github.com/example/operator-testbed/e2e/framework/audit","Test":"TestOne"}` + "\n"
		other   = `{"Time":"t","Action":"run","Package":"github.com/example/operator-testbed/e2e/framework/audit","Test":"TestTwo"}` + "\n"
		pass    = `{"Time":"t","Action":"pass","Package":"github.com/example/operator-testbed/e2e/framework/audit","Test":"TestTwo","Elapsed":1}` + "\n"
		cont    = `{"Time":"t","Action":"cont","Package":"github.com/example/operator-testbed/e2e/framework/audit","Test":"TestOne"}` + "\n"
		end     = `{"Time":"t","Action":"fail","Package":"github.com/example/operator-testbed/e2e/framework/audit","Test":"TestOne","Elapsed":1}` + "\n"
		skipped = `{"Time":"t","Action":"skip","Package":"github.com/example/operator-testbed/e2e/framework/audit","Elapsed":0}` + "\n"
	)
	for events, want := range map[string]string{
		"":                          "compiling; 0 packages done\n",
		start:                       "e2e/framework/audit; 0 packages done\n",
		start + run:                 "e2e/framework/audit TestOne; 0 packages done\n",
		start + run + step:          "e2e/framework/audit TestOne; 0 packages done\n",
		start + run + pause:         "e2e/framework/audit; 0 packages done\n",
		start + run + pause + other: "e2e/framework/audit TestTwo; 0 packages done\n",
		start + run + pause + other + pass + cont: "e2e/framework/audit TestOne; 0 packages done\n",
		start + run + end + skipped:               "compiling; 1 packages done\n",
	} {
		path := filepath.Join(t.TempDir(), "events")
		if err := os.WriteFile(path, []byte(events), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := exec.Command(filepath.Join(root, "scripts", "running-tests"), path).Output()
		if err != nil || string(got) != want {
			t.Errorf("expected %q, got %q and %v, after\n%s", want, got, err, events)
		}
	}
}

// TestParts prints what each part took, and ends with the first that fails.
func TestParts(t *testing.T) {
	root, err := cluster.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	script := exec.Command("bash", "-c", `. scripts/parts
part "quick" true
part "busy" bash -c '(ulimit -t 2; while :; do :; done); true' # until two seconds of processor time are over
part "bad" false
part "never" true`)
	script.Dir = root
	out, err := script.Output()
	if script.ProcessState.ExitCode() != 1 {
		t.Errorf("expected the exit code of the part that failed, got %v", err)
	}
	summary := regexp.MustCompile(`(?m)^ +\d+ s +0 s CPU  ok           quick
 +\d+ s +[1-9]\d* s CPU  ok           busy
 +\d+ s +0 s CPU  failed \(1\)   bad
 +\d+ s +[1-9]\d* s CPU  failed       bash in all\n$`)
	if !summary.Match(out) {
		t.Errorf("expected wall-clock and processor time of each part, got\n%s", out)
	}
}
