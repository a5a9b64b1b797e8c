package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/example/operator-testbed/e2e/cluster/supervisor/leftover"
	"github.com/example/operator-testbed/e2e/tier"
)

// TestBenchStopped stops the benchmark while each competitor starts, and expects
// that neither leaves anything.
func TestBenchStopped(t *testing.T) {
	tier.All(t)
	t.Parallel()
	for _, moment := range []string{"envtest starts", "the embedded cluster starts"} {
		t.Run(moment, func(t *testing.T) {
			b := newBed(t)
			// envtest keeps its files there; where the bed's are, they are looked for.
			temp := filepath.Join(b.state, "tmp")
			if err := os.MkdirAll(temp, 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := b.command("testbed", "bench", "cluster")
			cmd.Env = append(cmd.Env, "TMPDIR="+temp)
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			said := b.startUntil(cmd, stderr, "warm-up: "+moment+"\n")
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			rest, _ := io.ReadAll(said)
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 130 {
				t.Errorf("exit code %d, want 130", code)
			}
			if !strings.HasSuffix(string(rest), "testbed: stopped by Ctrl-C: nothing is left running\n") {
				t.Errorf("it said %q", rest)
			}
			leftover.None(t, b.state)
		})
	}
}
