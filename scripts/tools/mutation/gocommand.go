package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// goVariable names the environment variable with the path of the real Go command.
const goVariable = "MUTATION_GO"

// What gremlins reads from the exit code of `go test`.
const (
	lived     = 0
	killed    = 1
	notViable = 2
)

// testTimeout stops the tests when a change has made an endless loop: a safety net, far above the time that they take.
const testTimeout = "-test.timeout=10m"

// goCommand replaces the Go command while gremlins runs, and returns the exit code. With the real one, gremlins would
//   - count a change that does not compile as killed, because `go test` has the same exit code for both,
//   - look for a package main, whose directory has another name, in the root of the module, and count its changes as killed,
//   - never try a change in a case of a switch or outside of functions, because a coverage profile does not cover these,
//   - report that a change timed out when the first run of the tests came from the cache.
//
// It also runs the slow tests only on changes that the other tests don't notice.
func goCommand(arguments []string) int {
	// A signal stops the tests too; afterwards, this removes what they leave behind.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM)
	switch {
	case slices.Equal(arguments, []string{"mod", "download"}): // more than the operator needs
		return 0
	case slices.Contains(arguments, "-coverprofile"):
		return testUnchanged(arguments[slices.Index(arguments, "-coverprofile")+1], arguments[len(arguments)-1])
	}
	return tryMutant()
}

// testUnchanged runs the tests of packages and writes a coverage profile that covers every line.
func testUnchanged(profile, pattern string) int {
	if code := exitCode(command(os.Getenv(goVariable), "test", "-vet=off", pattern)); code != 0 {
		return code
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSuffix(pattern, "/..."), "*.go"))
	text := "mode: set\n"
	for _, file := range files {
		text += filepath.ToSlash(file) + ":1.1,1000000.1 1 1\n"
	}
	if err == nil {
		err = os.WriteFile(profile, []byte(text), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// tryMutant tests the package in the current directory.
func tryMutant() int {
	work, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return lived
	}
	defer func() {
		endProcesses(work)
		os.RemoveAll(work)
	}()
	tests := filepath.Join(work, "package.test")
	if exitCode(command(os.Getenv(goVariable), "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", tests, ".")) != 0 {
		return notViable
	}
	if _, err := os.Stat(tests); err != nil { // there are no tests
		return lived
	}
	quick := command(tests, testTimeout, "-test.failfast", "-test.skip=FaultExplorer")
	quick.Env = append(os.Environ(), "TMPDIR="+work, "KUBEBUILDER_ASSETS=")
	all := command(tests, testTimeout, "-test.failfast")
	all.Env = append(os.Environ(), "TMPDIR="+work)
	if exitCode(quick) != 0 || exitCode(all) != 0 {
		return killed
	}
	return lived
}

func command(name string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(context.Background(), name, arguments...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	return command
}

func exitCode(command *exec.Cmd) int {
	if err := command.Run(); err != nil {
		return max(1, command.ProcessState.ExitCode())
	}
	return 0
}

// endProcesses kills the API servers and etcds that tests left running when they were stopped. Their arguments name files in the
// directory.
func endProcesses(directory string) {
	list, err := exec.CommandContext(context.Background(), "ps", "-axww", "-o", "pid=,args=").Output()
	if err != nil {
		return
	}
	for line := range strings.Lines(string(list)) {
		pid, arguments, _ := strings.Cut(strings.TrimSpace(line), " ")
		if id, err := strconv.Atoi(pid); err == nil && strings.Contains(arguments, directory) {
			_ = syscall.Kill(id, syscall.SIGKILL)
		}
	}
}
