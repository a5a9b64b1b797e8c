package markdown

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/supervisor/leftover"
)

// pageVariable names to this test binary the repository with a page whose commands it runs, until it is killed.
const pageVariable = "MARKDOWN_TEST_PAGE"

// TestPage is what TestKilled kills.
func TestPage(t *testing.T) {
	if root := os.Getenv(pageVariable); root != "" {
		Run(t, Options{Root: root, Files: []string{"page.md"}})
	}
}

// TestKilled kills the test of a page while one of its commands runs, and another one has left a process in a session of its own, as
// `make up` leaves a supervisor.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGQUIT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			root, temporary, running := filepath.Join(directory, "repository"), filepath.Join(directory, "tmp"), filepath.Join(directory, "running")
			detach := "nohup setsid sleep 1000 >detached 2>&1 &"
			page := fmt.Sprintf("# A page\n\n~~~console needs=none\n$ %s\n$ echo running >%s; sleep 1000\n~~~\n", detach, running)
			err := errors.Join(os.Mkdir(root, 0o700), os.Mkdir(temporary, 0o700), syscall.Mkfifo(running, 0o600),
				os.WriteFile(filepath.Join(root, "page.md"), []byte(page), 0o600))
			if err == nil {
				_, err = git(root, "init", "--quiet")
			}
			if err != nil {
				t.Fatal(err)
			}
			tests := exec.Command(os.Args[0], "-test.run=^TestPage$")
			tests.Env = append(os.Environ(), pageVariable+"="+root, "TMPDIR="+temporary, insideVariable+"=")
			if err := tests.Start(); err != nil {
				t.Fatal(err)
			}
			fifo, err := os.OpenFile(running, os.O_RDWR, 0) // else opening it would wait
			if err != nil {
				t.Fatal(err)
			}
			defer fifo.Close()
			if line, err := bufio.NewReader(fifo).ReadString('\n'); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			for strings.Count(strings.Join(leftover.Processes(temporary), "\n"), " sleep 1000") < 2 { // both are about to be executed
				<-time.After(10 * time.Millisecond)
			}
			if err := tests.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = tests.Wait()
			leftover.None(t, temporary)
		})
	}
}
