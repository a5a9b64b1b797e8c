package grading_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/grading"
	"github.com/example/operator-testbed/tutorial/internal/isolation"
)

// attack is a file of the operator's package that is added to the solution. What it tries is in the function try, which returns what it
// got. An operator that got anything exits, so it holds in no feature; otherwise it is the solution, and holds in all.
const attack = `package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

var _, _, _, _ = net.Dial, exec.Command, filepath.Dir, syscall.Kill

func init() {
	if os.Getenv("HOSTILE") != "" {
		select {}
	}
	if got := try(); len(got) > 0 {
		fmt.Println("attack: got", got)
		os.Exit(3)
	}
}

func child() *exec.Cmd {
	c := exec.Command("/proc/self/exe")
	c.Env = []string{"HOSTILE=MARKER"}
	return c
}

func try() (got []string) {
BODY
	return got
}
`

// hostile are attacks, and the walls without which they succeed.
var hostile = []struct {
	name, body string
	without    string
}{
	{"a fork bomb", `	for range 300 {
		if child().Start() == nil {
			got = append(got, "a process")
		}
	}`, isolation.WantOuter},
	{"a daemon", `	c := child()
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if c.Start() == nil {
		got = append(got, "a daemon")
	}`, isolation.WantOuter},
	{"endless output", `	for written := 0; written < 100<<20; {
		n, err := os.Stdout.Write(make([]byte, 1<<20))
		if written += n; err != nil {
			return nil
		}
	}
	got = append(got, "a log of 100 MiB")`, isolation.WantOuter},
	{"the administrator's token", `	secret := filepath.Join(filepath.Dir(filepath.Dir(os.Getenv("KUBECONFIG"))), "tokens.csv")
	if _, err := os.ReadFile(secret); err == nil {
		got = append(got, secret)
	}`, isolation.WantOuter},
	{"the teacher's files", `	if _, err := os.ReadFile("SECRET"); err == nil {
		got = append(got, "SECRET")
	}`, isolation.WantNone},
	{"the network", `	for _, network := range []string{"tcp", "udp"} {
		if c, err := net.Dial(network, "LISTENER"); err == nil {
			if _, err := c.Write([]byte("attack")); err == nil {
				got = append(got, network)
			}
		}
	}`, isolation.WantNone},
}

// proof is a chapter that is ready to grade.
type proof struct {
	*WithT

	t       *testing.T
	chapter *grading.Chapter
	work    string
}

// in returns the proof for a subtest.
func (p proof) in(t *testing.T) proof {
	t.Helper()
	p.WithT, p.t = NewWithT(t), t
	return p
}

// graded grades a copy of the solution with these files added, behind these walls.
func (p proof) graded(want, name string, files map[string]string) grade.Result {
	p.t.Helper()
	walls, err := isolation.Choose(p.t.Context(), want)
	p.Expect(err).NotTo(HaveOccurred())
	grader := &grading.Grader{Chapter: p.chapter, Cell: walls, Commit: "test"}
	dir, err := os.MkdirTemp(p.work, "submission-")
	p.Expect(err).NotTo(HaveOccurred())
	p.Expect(os.CopyFS(dir, os.DirFS(p.chapter.Solution))).To(Succeed())
	for file, text := range files {
		if target, link := strings.CutPrefix(text, "-> "); link {
			p.Expect(os.Symlink(target, filepath.Join(dir, file))).To(Succeed())
			continue
		}
		p.Expect(os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600)).To(Succeed())
	}
	log := filepath.Join(dir+".log", "suite.log")
	p.Expect(os.Mkdir(filepath.Dir(log), 0o755)).To(Succeed())
	r, err := grader.One(p.t.Context(), p.calibration(), grading.Input{Dir: dir, Seed: name, Log: log, LogName: log})
	p.Expect(err).NotTo(HaveOccurred(), "%s: %s", name, read(log))
	p.t.Logf("%s, isolation %+v: %s %v of %v %s, %d ms, %d MiB, %d attempts", name, r.Isolation, r.Status, r.Score, r.MaxScore, r.Message,
		r.Volatile.TookMS, r.Volatile.MemoryBytes>>20, r.Volatile.Attempts)
	return r
}

// calibration is what the solution reaches: all features of chapter 04.
func (p proof) calibration() grading.Calibration {
	c := grading.Calibration{TookMS: 10_000}
	for _, name := range []string{"TestDelete", "TestPort", "TestRepair", "TestSize", "TestTwoInANamespace"} {
		c.Tests = append(c.Tests, grade.Test{Name: name, Status: grade.Pass, Score: 1, MaxScore: 1})
	}
	return c
}

func scores(points float64) types.GomegaMatcher {
	return And(HaveField("Status", grade.Graded), HaveField("Score", points), HaveField("MaxScore", 5.0))
}

// TestHostile grades the solution with an attack in it, which fails behind both walls: all features hold. Without the wall that stops it,
// it succeeds, and no feature holds: so this test can see. Nothing of it is left, and a neighbor that is graded meanwhile notices
// nothing.
func TestHostile(t *testing.T) {
	p := newProof(t)
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	p.Expect(err).NotTo(HaveOccurred())
	defer tcp.Close()
	secret := filepath.Join(t.TempDir(), "secret")
	p.Expect(os.WriteFile(secret, []byte("secret"), 0o600)).To(Succeed())
	for i, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			p := p.in(t)
			marker := fmt.Sprintf("marker-%d-%d", os.Getpid(), i)
			text := strings.Replace(attack, "BODY", h.body, 1)
			text = strings.NewReplacer("MARKER", marker, "SECRET", secret, "LISTENER", tcp.Addr().String()).Replace(text)
			files := map[string]string{"cmd/attack.go": text}
			p.Expect(p.graded(isolation.WantBoth, h.name, files)).To(scores(5))
			p.Expect(p.graded(h.without, h.name, files)).To(scores(0), "without the wall that stops it")
			p.Expect(processesWith(marker)).To(BeEmpty())
		})
	}
	t.Run("notes", func(t *testing.T) {
		p := p.in(t)
		// What the copy says about itself has no effect: neither the chapter nor hints that were not taken.
		notes := map[string]string{".stage": "01-custom-resource\n", ".hints": "{\"04-controller\": -100}"}
		p.Expect(p.graded(isolation.WantBoth, "notes", notes)).To(And(scores(5), HaveField("Stage", "04-controller")))
	})
	t.Run("a link", func(t *testing.T) {
		p := p.in(t)
		link := p.graded(isolation.WantBoth, "a link", map[string]string{"cmd/link.go": "-> /etc/passwd"})
		p.Expect(link).To(And(HaveField("Status", grade.NotGradable), HaveField("Message", ContainSubstring("cmd/link.go"))))
		p.Expect(p.graded(isolation.WantBoth, "no link", map[string]string{"cmd/link.go": "package main\n"})).To(scores(5))
	})
}

// hoard takes all memory, and busy all time.
const (
	hoard = "package main\n\nimport \"bytes\"\n\nvar hoard [][]byte\n\n" +
		"func init() {\n\tfor {\n\t\thoard = append(hoard, bytes.Repeat([]byte{1}, 64<<20))\n\t}\n}\n"
	busy = "package main\n\nfunc init() {\n\tfor {\n\t}\n}\n"
)

// TestHoards grades operators that take all they can get. They have a result, and stay within the limits, and a neighbor that is graded
// meanwhile has its own. Without the inner wall, the memory of one is above the limit before it is ended.
func TestHoards(t *testing.T) {
	p := newProof(t)
	const limit = 3 << 29
	var neighbor grade.Result
	var beside sync.WaitGroup
	beside.Go(func() { neighbor = p.graded(isolation.WantBoth, "neighbor", nil) })
	hog := p.graded(isolation.WantBoth, "memory", map[string]string{"cmd/hoard.go": hoard})
	beside.Wait()
	p.Expect(neighbor).To(scores(5))
	p.Expect(hog).To(scores(0))
	p.Expect(hog.Volatile.MemoryBytes).To(BeNumerically("<", limit))
	p.Expect(read(hog.Volatile.Log)).NotTo(ContainSubstring("exceeded the limit"))
	hog = p.graded(isolation.WantOuter, "memory", map[string]string{"cmd/hoard.go": hoard})
	p.Expect(hog).To(scores(0))
	p.Expect(hog.Volatile.MemoryBytes).To(BeNumerically(">", limit))
	p.Expect(read(hog.Volatile.Log)).To(ContainSubstring("exceeded the limit of memory"))

	p.Expect(p.graded(isolation.WantBoth, "time", map[string]string{"cmd/busy.go": busy})).To(scores(0))
}

// newProof prepares chapter 04, or skips a test that takes minutes.
func newProof(t *testing.T) proof {
	t.Helper()
	if os.Getenv("CLASS_PROOF") == "" {
		t.Skip("this takes minutes: run it with make class-proof")
	}
	p := proof{WithT: NewWithT(t), t: t, work: t.TempDir()}
	var err error
	p.chapter, err = grading.Prepare(t.Context(), grading.Assignment{Root: root, Stage: "04-controller", Work: p.work})
	p.Expect(err).NotTo(HaveOccurred())
	return p
}

// processesWith returns the processes on this machine that have a word in their environment.
func processesWith(word string) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		if strings.Contains(read(file), word) {
			found = append(found, file)
		}
	}
	return found
}
