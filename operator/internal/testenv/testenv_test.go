package testenv

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// asTests makes this executable the tests that are interrupted.
const asTests = "TESTENV_TESTS"

func TestMain(m *testing.M) {
	if os.Getenv(asTests) == "" {
		os.Exit(m.Run())
	}
	config, _, err := Start(&envtest.Environment{ControlPlaneStartTimeout: 5 * time.Minute, ControlPlaneStopTimeout: 5 * time.Minute})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(config.Host)
	select {}
}

// TestNothingIsLeft ends the tests with signals, of which they can notice only the first.
func TestNothingIsLeft(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("needs an API server: run `make test`, or set KUBEBUILDER_ASSETS to a directory that holds etcd and kube-apiserver")
	}
	for _, sent := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL, syscall.SIGQUIT} {
		t.Run(sent.String(), func(t *testing.T) {
			temporary := t.TempDir()
			tests := exec.CommandContext(t.Context(), os.Args[0])
			tests.Env = append(os.Environ(), asTests+"=1", "TMPDIR="+temporary)
			out, err := tests.StdoutPipe()
			if err == nil {
				err = tests.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err == nil {
				err = tests.Process.Signal(sent)
			}
			if err != nil {
				t.Fatal(err)
			}
			_ = tests.Wait()
			if sent == syscall.SIGINT {
				if tests.ProcessState.ExitCode() != 130 {
					t.Errorf("the tests ended with %s, expected exit status 130", tests.ProcessState)
				}
			} else {
				untilEmpty(t, temporary)
			}
			server, err := url.Parse(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			if connection, err := net.Dial("tcp", server.Host); err == nil {
				connection.Close()
				t.Errorf("the API server is still there, at %s", server)
			} else if !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("dial %s: %v, want the connection to be refused", server, err)
			}
			if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
				t.Errorf("the control plane has left %v, %v", left, err)
			}
		})
	}
}

// untilEmpty waits until nothing is in a directory, whose files are removed last, by a process that is not a child.
func untilEmpty(t *testing.T, directory string) {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < 5*time.Minute; <-time.After(10 * time.Millisecond) {
		if left, err := os.ReadDir(directory); err != nil || len(left) == 0 {
			return
		}
	}
}
