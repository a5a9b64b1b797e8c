package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/reaper"
)

func TestMain(m *testing.M) {
	supervisor.Main()
	reaper.Main()
	if filepath.Base(os.Args[0]) != "testbed" { // which these tests run
		reaper.Begin()
	}
	testscript.Main(m, map[string]func(){"testbed": main})
}

// TestScripts runs the scripts in testdata/script: what the commands and the
// make targets say, and how they exit, where no cluster is up.
func TestScripts(t *testing.T) {
	root, err := cluster.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The home that a script gets is empty; what Go has built is not in it.
	goEnv := map[string]string{}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		goEnv[name] = strings.TrimSpace(string(value))
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			for name, value := range goEnv {
				env.Setenv(name, value)
			}
			env.Setenv("REPOSITORY", root)
			env.Setenv(reaper.Variable, reaper.Value())
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("TMPDIR", env.WorkDir+"/tmp")
			if err := os.MkdirAll(env.WorkDir+"/tmp", 0o755); err != nil {
				return err
			}
			// The Go command's telemetry would write to the home after the script, while it is removed.
			telemetry := env.WorkDir + "/.config/go/telemetry"
			if err := errors.Join(os.MkdirAll(telemetry, 0o755), os.WriteFile(telemetry+"/mode", []byte("off"), 0o644)); err != nil {
				return err
			}
			// Nobody's clusters are any of a script's business.
			env.Setenv("TESTBED_STATE", env.WorkDir+"/state")
			env.Setenv("TESTBED_CACHE", env.WorkDir+"/cache")
			return nil
		},
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// exits runs a program and compares its exit code: exits 2 testbed nonsense
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code program [argument...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var failed *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &failed) {
		got = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s exited with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}
