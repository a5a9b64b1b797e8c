package framework

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
)

// reaching is set where this executable tries to reach the report of a suite.
const reaching = "REPORTER_TEST_INNER"

// TestReaching is a suite that reports to an inherited descriptor, and starts a program that tries to write to it, too.
func TestReaching(t *testing.T) {
	if os.Getenv(reaching) == "" {
		t.Skip("run by TestOnlyTheSuiteReports")
	}
	if errInherited != nil {
		t.Fatal(errInherited)
	}
	if err := inherited.write(Result{Test: "TestA", Outcome: DoesNotHold}); err != nil {
		t.Fatal(err)
	}
	// A shell, because it neither knows the descriptor nor is a Go program that would close it.
	out, err := exec.Command("sh", "-c", `echo "variable: $`+reportVariable+`"
		echo TestB >&3 || echo "no descriptor"
		(echo TestC >/proc/$PPID/fd/3) || echo "no entry in /proc"`).CombinedOutput()
	t.Logf("%s, %v", out, err)
}

// TestOnlyTheSuiteReports: what a suite writes to its descriptor can't be added to by a process that it starts, not even through /proc.
func TestOnlyTheSuiteReports(t *testing.T) {
	g := NewWithT(t)
	self, user := executableForOthers(t)
	run := func(value string) (report, out string, err error) {
		read, write, err := os.Pipe()
		g.Expect(err).NotTo(HaveOccurred())
		if user != nil { // who makes a pipe owns it
			g.Expect(write.Chown(int(user.Credential.Uid), int(user.Credential.Gid))).To(Succeed())
		}
		cmd := exec.Command(self, "-test.run=^TestReaching$", "-test.v")
		cmd.Env = append(os.Environ(), reaching+"=yes", reportVariable+"="+value)
		cmd.ExtraFiles = []*os.File{write}
		cmd.SysProcAttr, cmd.Dir = user, filepath.Dir(self)
		said := make(chan string, 1)
		go func() {
			content, _ := io.ReadAll(read)
			said <- string(content)
		}()
		printed, err := cmd.CombinedOutput()
		g.Expect(errors.Join(write.Close())).To(Succeed())
		return <-said, string(printed), err
	}
	report, out, err := run("fd:3")
	g.Expect(err).NotTo(HaveOccurred(), out)
	g.Expect(strings.Count(report, "\n")).To(Equal(1), report)
	g.Expect(report).To(HavePrefix(`{"suite":"","feature":"","test":"TestA","outcome":"does not hold"`))
	g.Expect(out).To(And(ContainSubstring("variable: \n"), ContainSubstring("no descriptor"), ContainSubstring("no entry in /proc")))

	// The twin: with a file in place of the descriptor, the program reaches both the descriptor and the suite's entry in /proc.
	file := filepath.Join(filepath.Dir(self), "report")
	report, out, err = run(file)
	g.Expect(err).NotTo(HaveOccurred(), out)
	g.Expect(report).To(ContainSubstring("TestB\n"))
	if runtime.GOOS == "linux" {
		g.Expect(report).To(ContainSubstring("TestC\n"))
	}
}

// executableForOthers returns this executable, and how to run it without the permissions of root, which opens everything in /proc. In
// the cells of a grader, root has none of them.
func executableForOthers(t *testing.T) (path string, user *syscall.SysProcAttr) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path = filepath.Join(dir, "suite")
	if err := os.WriteFile(path, content, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 {
		return path, nil
	}
	const nobody = 65534
	if err := errors.Join(os.Chmod(path, 0o755), os.Chmod(filepath.Dir(dir), 0o755), os.Chown(dir, nobody, nobody)); err != nil { // whatever the umask
		t.Fatal(err)
	}
	return path, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

func TestOpenReporter(t *testing.T) {
	g := NewWithT(t)
	for value, want := range map[string]string{
		"fd:":     "want the absolute path of a file, or a file descriptor such as fd:3",
		"fd:2":    "want the absolute path of a file, or a file descriptor such as fd:3",
		"fd:9999": "names the file descriptor 9999, which is not open",
	} {
		_, err := openReporter(value)
		g.Expect(err).To(MatchError(ContainSubstring(want)), value)
	}
	for _, none := range []*reporter{nil, {}} {
		g.Expect(none.write(Result{})).To(Succeed())
	}
}
