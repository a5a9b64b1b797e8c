package runner

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/framework/runner/probe"
)

// The log of an operator that does not start is removed with the supervisor's directory, so the error names a copy.
func TestLogOfAnOperatorThatDoesNotStart(t *testing.T) {
	for name, test := range map[string]struct{ script, log, seen string }{
		"it prints nothing": {"exit 0", "", "it printed nothing"},
		"it says why":       {"echo first; echo 'panic: no config'; echo last; exit 1", "first\npanic: no config\nlast\n", "panic: no config"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, options := confinedReplica(t)
			evidence := t.TempDir()
			options.Evidence = func() (string, error) { return evidence, nil }
			g.Expect(r.supervisor().Run(t.Context(), supervisor.Process{Name: "operator", Path: "/bin/sh", Args: []string{"-c", test.script}})).To(Succeed())
			err := options.keepLog(r.ready(t.Context()))
			g.Expect(r.supervisor().Shutdown(context.WithoutCancel(t.Context()))).To(Succeed())
			g.Expect(os.RemoveAll(r.supervisor().Dir())).To(Succeed())

			path := evidence + "/operator.log"
			g.Expect(err).To(MatchError(`the operator's process "operator" exited before it was ready: ` + test.seen + " (log: " + path + ")"))
			log, err := os.ReadFile(path)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(log)).To(Equal(test.log))
		})
	}
}

// A copy that can't be made does not hide why the operator has not started.
func TestLogThatCanNotBeKept(t *testing.T) {
	g := NewWithT(t)
	options := Options{Evidence: func() (string, error) { return t.TempDir(), nil }}
	err := options.keepLog(&notReadyError{reason: "it exited", words: "it printed nothing", log: "/none/operator.log"})
	g.Expect(err).To(MatchError(And(HavePrefix("it exited: it printed nothing (log: /none/operator.log)\n"), ContainSubstring("keep the operator's log: open /none/operator.log: "))))
}

// The reason for which a probe has ended is part of its error once.
func TestProbeWithoutAnAnswer(t *testing.T) {
	g := NewWithT(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // connections wait to be accepted
	g.Expect(err).NotTo(HaveOccurred())
	defer silent.Close()
	reason := errors.New("no answer in time")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, reason)
	defer cancel()
	err = probe.Ready(ctx, silent.Addr().String())
	g.Expect(err).To(MatchError(reason))
	g.Expect(err.Error()).NotTo(ContainSubstring("\n"))
	g.Expect(strings.Count(err.Error(), reason.Error())).To(Equal(1), err.Error())
}

// A program that has no flag for the address of its probes runs without it, from then on. It is ready if it runs, as in a pod without probes.
func TestOperatorWithoutProbes(t *testing.T) {
	for name, refusal := range map[string]string{
		"flag":  "flag provided but not defined: -health-probe-bind-address",
		"pflag": "Error: unknown flag: --health-probe-bind-address",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, options := confinedReplica(t)
			options.Own, options.Binary = true, filepath.Join(t.TempDir(), "manager")
			script := "#!/bin/sh\ncase \"$*\" in *health-probe*) echo '" + refusal + "'; echo usage; exit 2;; esac\nexec sleep 60\n"
			g.Expect(os.WriteFile(options.Binary, []byte(script), 0o700)).To(Succeed())
			r.operator.options = options
			g.Expect(r.run(t.Context())).To(Succeed())
			g.Expect(r.operator.Ready(t.Context())).To(Succeed())
			g.Expect(r.crash(t.Context())).To(Succeed())
			g.Expect(r.operator.Ready(t.Context())).To(MatchError("not running: operator"))
		})
	}
}
