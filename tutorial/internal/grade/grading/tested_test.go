package grading_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/grading"
	"github.com/example/operator-testbed/tutorial/internal/isolation"
)

// guesses are tests that fail where something seems to choose a fault.
const guesses = `package controller

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("TESTBED_MUTANT") != "" {
		fmt.Println("--- FAIL: TestGuess (0.00s)")
		os.Exit(1)
	}
	os.Exit(0)
}
`

// pries are tests that look around. If they get anything, they notice no fault.
const pries = `package controller

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

func init() {
	var got []string
	if _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid())); err == nil {
		got = append(got, "the environment of the suite")
	}
	if exec.Command("/bin/true").Run() == nil {
		got = append(got, "a process")
	}
	for _, name := range []string{"KUBECONFIG", "TESTBED_TESTS_KEY", "TESTBED_STATE"} {
		if os.Getenv(name) != "" {
			got = append(got, name)
		}
	}
	listening, _ := os.ReadFile("/proc/net/tcp")
	for _, line := range strings.Split(string(listening), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[3] != "0A" {
			continue
		}
		_, hex, _ := strings.Cut(fields[1], ":")
		port, _ := strconv.ParseUint(hex, 16, 16)
		if _, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			got = append(got, "a port")
		}
	}
	if len(got) > 0 {
		fmt.Println("attack: got", got)
		os.Exit(0)
	}
}
`

// TestTests grades tests that students have written, behind both walls: the solution's, which calibrate, tests that do not test, those that
// look around, and those that can't meet a fault.
func TestTests(t *testing.T) {
	tier.All(t)
	tier.NeedsEmbedded(t)
	g := NewWithT(t)
	walls, err := isolation.Choose(t.Context(), isolation.WantBoth)
	if err != nil {
		t.Skipf("no operator can be confined here: %v", err)
	}
	work := t.TempDir()
	chapter, err := grading.Prepare(t.Context(), grading.Assignment{Root: root, Stage: "13-testing", Work: work})
	g.Expect(err).NotTo(HaveOccurred())
	grader := &grading.Grader{Chapter: chapter, Cell: walls, Commit: "test"}
	log := filepath.Join(work, "log")
	calibration, err := grader.Calibrate(t.Context(), log)
	g.Expect(err).NotTo(HaveOccurred(), read(log))

	graded := func(name string, change func(dir string) error) grade.Result {
		dir := filepath.Join(work, name)
		g.Expect(os.CopyFS(dir, os.DirFS(chapter.Solution))).To(Succeed())
		g.Expect(change(filepath.Join(dir, "internal", "controller"))).To(Succeed())
		r, err := grader.One(t.Context(), calibration, grading.Input{Dir: dir, Seed: name, Log: filepath.Join(work, name+".log")})
		g.Expect(err).NotTo(HaveOccurred(), name)
		t.Logf("%s: %s, %v of %v: %s", name, r.Status, r.Score, r.MaxScore, r.Message)
		return r
	}
	adds := func(text string) func(string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, "more_test.go"), []byte(text), 0o600) }
	}

	pried := graded("pries", adds(pries))
	g.Expect(pried.Status).To(Equal(grade.Graded))
	g.Expect(pried.Score).To(Equal(pried.MaxScore), "expected the tests to get nothing; see %s", read(filepath.Join(work, "pries.log")))

	guessed := graded("guesses", adds(guesses))
	g.Expect(guessed.Status).To(Equal(grade.Graded))
	about := 0
	for _, test := range guessed.Tests {
		if tried := test.Name == "TestPass" || test.Name == "TestSteady" || strings.HasPrefix(test.Name, "TestNotices"); tried {
			about++
			g.Expect(test.Score).To(BeZero(), test.Name)
		} else {
			g.Expect(test.Score).To(Equal(test.MaxScore), "%s is about the operator: %s", test.Name, test.Message)
		}
	}
	g.Expect(about).To(Equal(9))

	elsewhere := graded("elsewhere", adds("package controller_test\n"))
	g.Expect(elsewhere).To(And(HaveField("Status", grade.NotGradable), HaveField("Message", ContainSubstring("more_test.go is of the package controller_test: write your tests"))))
	broken := graded("broken", adds("package controller\n\nvar _ int = wrong\n"))
	g.Expect(broken).To(And(HaveField("Status", grade.NotGradable), HaveField("Message", ContainSubstring("undefined: wrong"))))
}
