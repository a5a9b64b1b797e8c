package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
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
# Until two seconds of processor time are over, and a moment more: the next part must not complete the second.
part "busy" bash -c '(ulimit -t 2; while :; do :; done); for ((i = 0; i < 50000; i++)); do :; done'
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

// TestPartsPassSignalsOn stops a script that has parts as make does, which signals nobody but the script. While the script ends, it gets the
// same signal again, as it does when somebody signals make's process group.
func TestPartsPassSignalsOn(t *testing.T) {
	t.Parallel()
	root, err := cluster.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	catchable()
	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			temp := t.TempDir()
			script := exec.CommandContext(t.Context(), "bash", "-c", fmt.Sprintf(`. scripts/parts
again() { kill -s %d $$; }
parts_finally=again
part "waiting" bash -c 'trap "echo cleaned up; exit 1" INT TERM HUP; echo begun; while [ $SECONDS -lt 30 ]; do sleep 0.1; done'`, sig))
			script.Dir = root
			script.Env = append(os.Environ(), "TMPDIR="+temp, "TESTBED_FAILURES=")
			stdout, err := script.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := script.Start(); err != nil {
				t.Fatal(err)
			}
			said := bufio.NewReader(stdout)
			for line := ""; line != "begun\n"; {
				if line, err = said.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			if err := script.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(said) // the pipe ends when everybody who could write to it has ended
			if want := regexp.MustCompile(`^cleaned up\n\n +stopped +waiting\n.* failed +bash in all\n$`); err != nil || !want.Match(rest) {
				t.Errorf("expected that the part ends before the script, %v, got\n%s", err, rest)
			}
			_ = script.Wait()
			if got := script.ProcessState.ExitCode(); got != code {
				t.Errorf("expected exit code %d, got %d", code, got)
			}
			if left, _ := os.ReadDir(temp); len(left) > 0 {
				t.Errorf("expected no file to be left, got %s", left[0].Name())
			}
		})
	}
}
