package interrupt_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/example/operator-testbed/e2e/interrupt"
)

// part is set in the environment of this test binary when it is the program
// that is asked to stop.
const part = "INTERRUPT_TEST_PART"

func TestMain(m *testing.M) {
	if os.Getenv(part) == "" {
		os.Exit(m.Run())
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, interrupt.Signals()...)
	fmt.Println("ready")
	fmt.Println(<-signals)
}

// A hangup and then a SIGTERM are sent to a program that is started with the
// disposition of SIGHUP that a shell's trap gives it.
func TestHangup(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A shell can't take back that a signal was ignored when it was started.
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	for name, test := range map[string]struct {
		trap string
		want syscall.Signal
	}{
		"asks to stop":         {"trap - HUP", syscall.SIGHUP},
		"is ignored by nohup":  {"trap '' HUP", syscall.SIGTERM},
		"is caught by a shell": {"trap : HUP", syscall.SIGHUP},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", test.trap+`; exec "$0"`, self)
			cmd.Env = append(os.Environ(), part+"=program")
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Wait() }()
			said := bufio.NewScanner(stdout)
			said.Scan() // that it is ready
			for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
				if err := cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				if sig == test.want {
					break
				}
			}
			if said.Scan(); said.Text() != test.want.String() {
				t.Errorf("expected that it is stopped by %v, it was by %s", test.want, said.Text())
			}
		})
	}
}
