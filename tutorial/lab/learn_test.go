package lab

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/submission"
)

// What can't be shown is refused before anything is served.
func TestLearnRefuses(t *testing.T) {
	t.Setenv("TESTBED_STATE", t.TempDir())
	site := filepath.Join(repository, "tutorial", "internal", "learn", "testdata", "site")
	none := filepath.Join(t.TempDir(), "none")
	for _, test := range []struct {
		in   learnInput
		want string
	}{
		{learnInput{cluster: "existing"}, "the page can't show CLUSTER=existing: use one of embedded, kind"},
		{learnInput{cluster: "kind", port: "web"}, "PORT=web is not a port: give one such as 8091, or none"},
		{learnInput{cluster: "kind", port: "65536"}, "PORT=65536 is not a port: "},
		{learnInput{cluster: "kind", dir: none}, "there is no directory " + none + ": name the chapter as well"},
		{learnInput{cluster: "kind", site: none}, "the site is not built: there is no directory " + none + ": type make site"},
		{learnInput{cluster: "kind", site: site, stage: "99"}, "there is no STAGE=99: "},
		{learnInput{cluster: "kind", site: site, stage: "04-controller"}, "STAGE=04-controller is now 03-controller"},
		{learnInput{cluster: "kind", site: site, dir: site}, site + " was not made by make start"},
	} {
		err := recorder{root: repository}.learn(t.Context(), test.in, io.Discard)
		NewWithT(t).Expect(err).To(MatchError(HavePrefix(test.want)))
	}
}

// A directory that is not there becomes a copy, and one that is there stays as it is.
func TestLearnMakesACopy(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	in := learnInput{stage: "03-controller", dir: filepath.Join(t.TempDir(), "mine")}
	g.Expect(recorder{root: repository}.copyFor(t.Context(), in, &out)).To(Succeed())
	g.Expect(out.String()).To(ContainSubstring("Your goal: "))
	file := filepath.Join(in.dir, submission.StageFile)
	g.Expect(os.ReadFile(file)).To(BeEquivalentTo("03-controller\n"))
	g.Expect(os.WriteFile(file, []byte("mine"), 0o600)).To(Succeed())
	g.Expect(recorder{root: repository}.copyFor(t.Context(), in, &out)).To(Succeed())
	g.Expect(os.ReadFile(file)).To(BeEquivalentTo("mine"))
}

// testbedThat is a testbed whose only command is a shell script.
func testbedThat(t *testing.T, does string) commandLine {
	t.Helper()
	c := commandLine{dir: t.TempDir()}
	c.path = filepath.Join(c.dir, "testbed")
	if err := os.WriteFile(c.path, []byte("#!/bin/sh\n"+does+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return c
}

// A command that is to stop may put things in order, and is waited for.
func TestCommandIsStopped(t *testing.T) {
	g := NewWithT(t)
	ctx, stop := context.WithCancel(t.Context())
	var messages strings.Builder
	out := writerFunc(func([]byte) { stop() })
	testbed := testbedThat(t, `trap 'echo in order >&2; exit 3' TERM; echo ready; while :; do read -r line </dev/null; done`)
	g.Expect(testbed.run(ctx, out, &messages, "run")).NotTo(Succeed())
	g.Expect(messages.String()).To(Equal("in order\n"))
}

// toRunVariable is the path of the command that this executable is to run until it is killed.
const toRunVariable = "LAB_TEST_TO_RUN"

// A command ends when the process that has started it is killed.
func TestCommandOutlivesNobody(t *testing.T) {
	g := NewWithT(t)
	if path := os.Getenv(toRunVariable); path != "" { // the process to kill
		g.Expect(commandLine{path: path}.run(t.Context(), os.Stdout, os.Stderr, "run")).To(Succeed())
		return
	}
	testbed := testbedThat(t, `[ "$*" = "--until-eof run" ] || exit; echo ready; cat; [ -e "$0.killed" ] && echo "it ends"`)
	killed := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCommandOutlivesNobody$")
	killed.Env = append(os.Environ(), toRunVariable+"="+testbed.path)
	pipe, err := killed.StdoutPipe() // the command writes to it too
	g.Expect(err).NotTo(HaveOccurred())
	out := bufio.NewReader(pipe)
	g.Expect(killed.Start()).To(Succeed())
	g.Expect(out.ReadString('\n')).To(Equal("ready\n"))
	g.Expect(os.WriteFile(testbed.path+".killed", nil, 0o600)).To(Succeed())
	g.Expect(killed.Process.Kill()).To(Succeed())
	g.Expect(io.ReadAll(out)).To(BeEquivalentTo("it ends\n"))
	_ = killed.Wait() // it was killed
}

type writerFunc func([]byte)

func (f writerFunc) Write(text []byte) (int, error) {
	f(text)
	return len(text), nil
}
