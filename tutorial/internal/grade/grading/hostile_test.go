package grading_test

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/grading"
	"github.com/example/operator-testbed/tutorial/internal/isolation"
)

// program is a file of the operator's package that is added to the solution. What it tries is in functions, each of which returns what it
// got. An operator that got anything exits, so it holds in no feature; otherwise it is the solution, and holds in all.
const program = `package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var (
	_, _, _ = net.Dial, exec.Command, filepath.Dir
	_, _, _ = syscall.Kill, strconv.Itoa, strings.Fields
)

func init() {
	if os.Getenv("HOSTILE") != "" {
		<-time.After(time.Hour)
	}
	var got []string
	for _, try := range []func() []string{
TRIES
	} {
		got = append(got, try()...)
	}
	if len(got) > 0 {
		fmt.Println("attack: got", got)
		os.Exit(3)
	}
}

// child is a process of this program.
func child() *exec.Cmd {
	c := exec.Command("/proc/self/exe")
	c.Env = []string{"HOSTILE=MARKER"}
	return c
}

// cluster is the directory of the cluster, with what is secret.
func cluster() string { return filepath.Dir(filepath.Dir(os.Getenv("KUBECONFIG"))) }

// shortened returns another path of a directory, because the address of a Unix socket holds 107 bytes. Opening the directory in this way
// needs no permission to read it.
func shortened(dir string) string {
	const asPath = 0x200000 // O_PATH
	fd, err := syscall.Open(dir, asPath|syscall.O_DIRECTORY, 0)
	if err != nil {
		return dir
	}
	return fmt.Sprintf("/proc/self/fd/%d", fd)
}
`

// attack is what an operator tries.
type attack struct {
	name string
	body string // of a function that returns what it got
	got  string // which is a part of that
	// without names the walls with which it succeeds.
	without string
}

var attacks = []attack{
	{"a fork bomb", `for range 300 {
			if child().Start() == nil {
				return []string{"a process"}
			}
		}`, "a process", isolation.WantOuter},
	{"a daemon", `c := child()
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if c.Start() == nil {
			got = append(got, "a daemon")
		}`, "a daemon", isolation.WantOuter},
	{"endless output", `for written := 0; written < 40<<20; {
			n, err := os.Stdout.WriteString(strings.Repeat(strings.Repeat("x", 1023)+"\n", 1<<10))
			if written += n; err != nil {
				_ = os.Stdout.Truncate(0) // the suite looks in the log for what the operator says later
				return nil
			}
		}
		got = append(got, "a log of 40 MiB")`, "a log of 40 MiB", isolation.WantOuter},
	{"memory that no limit counts", `for i, name := range []string{"shared", "stack"} {
			flags := []int{syscall.MAP_SHARED, syscall.MAP_PRIVATE | syscall.MAP_GROWSDOWN}[i]
			memory, err := syscall.Mmap(-1, 0, 500<<20, syscall.PROT_READ|syscall.PROT_WRITE, flags|syscall.MAP_ANON)
			for i := 0; err == nil && i < len(memory); i += 4096 {
				memory[i] = 1
			}
			if err == nil {
				got = append(got, name+" memory")
				_ = syscall.Munmap(memory)
			}
		}`, "shared memory stack memory", isolation.WantOuter},
	{"the administrator's token", `for _, secret := range []string{"tokens.csv", "kubeconfig", "pki/service-accounts.key", "audit.log"} {
			if _, err := os.ReadFile(filepath.Join(cluster(), secret)); err == nil {
				got = append(got, secret)
			}
		}`, "tokens.csv kubeconfig pki/service-accounts.key audit.log", isolation.WantOuter},
	{"the sockets of etcd and the supervisor", `for _, socket := range []string{"etcd/client.sock:0", "control.sock"} {
			if _, err := net.Dial("unix", filepath.Join(shortened(cluster()), socket)); err == nil {
				got = append(got, socket)
			}
		}`, "etcd/client.sock:0 control.sock", isolation.WantOuter},
	{"the processes of the testbed", `if _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid())); err == nil {
			got = append(got, "the supervisor's environment")
		}
		if syscall.Kill(os.Getppid(), 0) == nil {
			got = append(got, "a signal to the supervisor")
		}`, "the supervisor's environment a signal to the supervisor", isolation.WantOuter},
	{"places to leave something", `for _, dir := range []string{"/tmp", "/dev/shm", "/var/tmp", cluster()} {
			if os.WriteFile(filepath.Join(dir, "left"), nil, 0o600) == nil {
				got = append(got, dir)
			}
		}`, "/tmp /dev/shm /var/tmp", isolation.WantOuter},
	{"the teacher's files", `for _, path := range []string{"SECRET", "REPOSITORY/go.mod"} {
			if _, err := os.ReadFile(path); err == nil {
				got = append(got, path)
			}
		}`, "SECRET REPOSITORY/go.mod", isolation.WantNone},
	{"the network", `for _, network := range []string{"tcp", "udp"} {
			if c, err := net.Dial(network, "LISTENER"); err == nil {
				if _, err := c.Write([]byte("attack")); err == nil {
					got = append(got, network)
				}
			}
		}`, "tcp udp", isolation.WantNone},
}

// selfGrading is an operator that does nothing but grade itself. At its start, whatever its arguments, it writes results to each report
// that it finds, in a process that outlives it where it can have one, and ends all others before they report anything else.
const selfGrading = `package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	if os.Getenv("AGAIN") == "" {
		again := exec.Command("/proc/self/exe")
		again.Env = append(os.Environ(), "AGAIN=yes")
		again.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		err := again.Start()
		fmt.Println("attack: a process of its own:", err)
		if err == nil {
			<-time.After(time.Hour) // the other one writes, and no line twice
		}
	}
	// The kubeconfig is in run-*/clusters/NAME/*, and a report that is a file in run-*.
	run := os.Getenv("KUBECONFIG")
	for range 4 {
		run = filepath.Dir(run)
	}
	reports := []string{os.Getenv("TESTBED_REPORT"), filepath.Join(run, "report")}
	open, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, file := range open {
		if target, err := os.Readlink(file); err == nil && strings.HasPrefix(target, "pipe:") {
			reports = append(reports, file)
		}
	}
	got := 0
	for _, report := range reports {
		file, err := os.OpenFile(report, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
		if err != nil {
			continue
		}
		for _, test := range []string{TESTS} {
			if _, err := fmt.Fprintf(file, "{\"test\":%q,\"outcome\":\"holds\"}\n", test); err == nil {
				got++
			}
		}
		file.Close()
	}
	fmt.Println("attack: wrote", got, "results")
	if got > 0 {
		_ = syscall.Kill(-1, syscall.SIGKILL)
	}
	os.Exit(3)
}
`

// reportsToFile is a cell whose suite reports to a file, as it did before there was a pipe that no other process can write to.
type reportsToFile struct{ grading.Cell }

// Run runs a command, and passes on what is in the file.
func (c reportsToFile) Run(ctx context.Context, command isolation.Command) (isolation.Usage, error) {
	i := slices.IndexFunc(command.Env, func(variable string) bool { return strings.HasPrefix(variable, "TESTBED_REPORT=") })
	if i < 0 {
		return c.Cell.Run(ctx, command)
	}
	file, to := filepath.Join(command.Scratch[0], "report"), command.Report
	command.Env[i], command.Report = "TESTBED_REPORT="+file, nil
	command.Writable, command.Scratch = command.Scratch, nil
	usage, err := c.Cell.Run(ctx, command)
	if text, wrong := os.ReadFile(file); err == nil && wrong == nil {
		_, err = to.Write(text)
	}
	return usage, err
}

// proof is an assignment that is ready to grade, and what its solution reaches.
type proof struct {
	*WithT

	t           *testing.T
	chapter     *grading.Chapter
	graders     map[string]*grading.Grader // by their walls
	calibration grading.Calibration
	work        string
}

// in returns the proof for a subtest.
func (p proof) in(t *testing.T) proof {
	t.Helper()
	p.WithT, p.t = NewWithT(t), t
	return p
}

// walls returns walls of this machine's.
func (p proof) walls(want string) grading.Cell {
	p.t.Helper()
	walls, err := isolation.Choose(p.t.Context(), want)
	p.Expect(err).NotTo(HaveOccurred())
	return walls
}

// grader returns a grader with that cell.
func (p proof) grader(cell grading.Cell) *grading.Grader {
	return &grading.Grader{Chapter: p.chapter, Cell: cell, Commit: "test"}
}

// graded grades a copy of the solution with these files added, behind these walls.
func (p proof) graded(want, name string, files map[string]string) grade.Result {
	p.t.Helper()
	return p.gradedBy(p.graders[want], name, files)
}

func (p proof) gradedBy(grader *grading.Grader, name string, files map[string]string) grade.Result {
	p.t.Helper()
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
	r, err := grader.One(p.t.Context(), p.calibration, grading.Input{Dir: dir, Seed: name, Log: log, LogName: log})
	p.Expect(err).NotTo(HaveOccurred(), "%s: %s", name, read(log))
	first := r.Message // why points are missing
	i := slices.IndexFunc(r.Tests, func(test grade.Test) bool { return test.Status == grade.Fail })
	if first == "" && i >= 0 {
		first = r.Tests[i].Name + ": " + r.Tests[i].Message
	}
	p.t.Logf("%s, isolation %+v: %s %v of %v, %.200q, %d ms, %d CPU ms, %d MiB, %d attempts", name, r.Isolation, r.Status, r.Score, r.MaxScore,
		first, r.Volatile.TookMS, r.Volatile.CPUMS, r.Volatile.MemoryBytes>>20, r.Volatile.Attempts)
	return r
}

// full matches a result with all points.
func (p proof) full() types.GomegaMatcher { return p.scores(p.most()) }

// scores matches a result with so many points.
func (p proof) scores(points float64) types.GomegaMatcher {
	return And(HaveField("Status", grade.Graded), HaveField("Score", points), HaveField("MaxScore", p.most()))
}

// most is the score of the solution.
func (p proof) most() float64 {
	most := 0.0
	for _, test := range p.calibration.Tests {
		most += test.MaxScore
	}
	return most
}

// outside is what attacks try to reach of this machine, and a word by which their processes are found.
type outside struct{ marker, secret, repository, listener string }

// names replaces the names in attacks.
func (o outside) names() *strings.Replacer {
	return strings.NewReplacer("MARKER", o.marker, "SECRET", o.secret, "REPOSITORY", o.repository, "LISTENER", o.listener)
}

// outside makes a file and a listener.
func (p proof) outside() outside {
	p.t.Helper()
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	p.Expect(err).NotTo(HaveOccurred())
	p.t.Cleanup(func() { tcp.Close() })
	o := outside{marker: fmt.Sprintf("marker-%d", os.Getpid()), secret: filepath.Join(p.t.TempDir(), "secret"), listener: tcp.Addr().String()}
	p.Expect(os.WriteFile(o.secret, []byte("secret"), 0o600)).To(Succeed())
	o.repository, err = filepath.Abs(root)
	p.Expect(err).NotTo(HaveOccurred())
	return o
}

// program returns the file with the attacks.
func (o outside) program(attacks ...attack) map[string]string {
	var tries strings.Builder
	for _, a := range attacks {
		fmt.Fprintf(&tries, "\t\tfunc() (got []string) { // %s\n\t\t%s\n\t\treturn got\n\t\t},\n", a.name, a.body)
	}
	return map[string]string{"cmd/attack.go": o.names().Replace(strings.Replace(program, "TRIES", tries.String(), 1))}
}

// hostileAssignments are those whose suites do different things with an operator: run it, deploy it, run several of it, call it, restart it
// under load, and give it another server to talk to.
var hostileAssignments = []grading.Assignment{
	{Stage: "03-controller"}, {Stage: "08-deployment"}, {Stage: "10-finalizers"}, {Stage: "11-admission"}, {Stage: "12-certificates"},
	{Stage: "19-finished"}, {Stage: "03-controller", Lab: "hands-off"},
}

// TestHostile grades, in each chapter whose suite does something else, the solution with all attacks in it. They fail behind both walls: all
// features hold. Without the wall that stops it, each attack succeeds, and no feature holds: so this test can see. Nothing of it is
// left. An operator that only grades itself gets nothing, and everything where the suite reports to a file.
func TestHostile(t *testing.T) {
	tier.Nightly(t)
	for _, a := range hostileAssignments {
		t.Run(cmp.Or(a.Lab, a.Stage), func(t *testing.T) {
			if stages := os.Getenv("CLASS_PROOF_STAGES"); stages != "" && !slices.Contains(strings.Fields(stages), a.Stage) {
				t.Skip("another chapter was chosen")
			}
			p := newProof(t, a)
			o := p.outside()
			t.Run("all attacks", func(t *testing.T) {
				p := p.in(t)
				p.Expect(p.graded(isolation.WantBoth, "all attacks", o.program(attacks...))).To(p.full())
			})
			t.Run("alone", func(t *testing.T) { p.in(t).twins(o) })
			p.Expect(processesWith(o.marker)).To(BeEmpty())
			p.Expect(filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "grade-*"))).To(BeEmpty(), "what was graded has left something")
		})
	}
}

// twins makes each attack without its wall. What a twin gets does not depend on time, so they run side by side.
func (p proof) twins(o outside) {
	slots := make(chan struct{}, runtime.NumCPU())
	parallel := func(name string, do func(p proof)) {
		p.t.Run(name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			do(p.in(t))
		})
	}
	for _, a := range attacks {
		parallel(a.name, func(p proof) {
			r := p.graded(a.without, a.name, o.program(a))
			p.Expect(r).To(p.scores(0), "without the wall that stops it")
			p.Expect(read(r.Volatile.Log)).To(ContainSubstring("attack: got [" + o.names().Replace(a.got)))
		})
	}
	parallel("grades itself", func(p proof) {
		files := gradesItself(p.t, p.chapter, p.calibration)
		p.Expect(p.graded(isolation.WantBoth, "grades itself", files)).To(p.scores(0))
		p.Expect(p.gradedBy(p.grader(reportsToFile{p.walls(isolation.WantOuter)}), "grades itself, and can", files)).To(p.full())
	})
}

// gradesItself returns files that make of the solution of a chapter an operator that does.
func gradesItself(t *testing.T, chapter *grading.Chapter, c grading.Calibration) map[string]string {
	t.Helper()
	var tests []string
	for _, test := range c.Tests {
		if test.Status != grade.Skip {
			tests = append(tests, strconv.Quote(test.Name))
		}
	}
	files := map[string]string{}
	cmd, err := filepath.Glob(filepath.Join(chapter.Solution, "cmd", "*.go"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, file := range cmd {
		files["cmd/"+filepath.Base(file)] = "package main\n"
	}
	files["cmd/main.go"] = strings.Replace(selfGrading, "TESTS", strings.Join(tests, ", "), 1)
	return files
}

// TestNotes: what the copy says about itself has no effect, neither the chapter nor hints that were not taken, and a link leads nowhere.
func TestNotes(t *testing.T) {
	tier.Nightly(t)
	p := newProof(t, grading.Assignment{Stage: "03-controller"})
	notes := map[string]string{".stage": "01-custom-resource\n", ".hints": "{\"03-controller\": -100}"}
	p.Expect(p.graded(isolation.WantBoth, "notes", notes)).To(And(p.full(), HaveField("Stage", "03-controller")))
	link := p.graded(isolation.WantBoth, "a link", map[string]string{"cmd/link.go": "-> /etc/passwd"})
	p.Expect(link).To(And(HaveField("Status", grade.NotGradable), HaveField("Message", ContainSubstring("cmd/link.go"))))
	p.Expect(p.graded(isolation.WantBoth, "no link", map[string]string{"cmd/link.go": "package main\n"})).To(p.full())
}

// hoard takes all memory, and busy all time, with more threads than its neighbors have.
const (
	hoard = "package main\n\nimport \"bytes\"\n\nvar hoard [][]byte\n\n" +
		"func init() {\n\tfor {\n\t\thoard = append(hoard, bytes.Repeat([]byte{1}, 64<<20))\n\t}\n}\n"
	busy = "package main\n\nimport \"runtime\"\n\nfunc init() {\n\truntime.GOMAXPROCS(200)\n\tfor range 200 {\n\t\tgo func() {\n\t\t\tfor {\n\t\t\t}\n\t\t}()\n\t}\n\tselect {}\n}\n"
)

// TestHoards grades operators that take all they can get. They have a result, and stay within the limits, and a neighbor that is graded
// meanwhile has its own. Without the inner wall, the memory of one is above the limit before it is ended.
func TestHoards(t *testing.T) {
	tier.Nightly(t)
	p := newProof(t, grading.Assignment{Stage: "03-controller"})
	const limit = 3 << 29
	hog := p.beside("memory", map[string]string{"cmd/hoard.go": hoard})
	p.Expect(hog).To(p.scores(0))
	p.Expect(hog.Volatile.MemoryBytes).To(BeNumerically("<", limit))
	p.Expect(read(hog.Volatile.Log)).NotTo(ContainSubstring("exceeded the limit"))
	hog = p.graded(isolation.WantOuter, "memory", map[string]string{"cmd/hoard.go": hoard})
	p.Expect(hog).To(p.scores(0))
	p.Expect(hog.Volatile.MemoryBytes).To(BeNumerically(">", limit))
	p.Expect(read(hog.Volatile.Log)).To(ContainSubstring("exceeded the limit of memory"))

	p.Expect(p.beside("time", map[string]string{"cmd/busy.go": busy})).To(p.scores(0))
}

// beside grades a submission, and the solution beside it, which notices nothing.
func (p proof) beside(name string, files map[string]string) grade.Result {
	p.t.Helper()
	var neighbor grade.Result
	var beside sync.WaitGroup
	beside.Go(func() { neighbor = p.graded(isolation.WantBoth, "neighbor of "+name, nil) })
	r := p.graded(isolation.WantBoth, name, files)
	beside.Wait()
	p.Expect(neighbor).To(p.full())
	return r
}

// loud says more in one line than a report may have, and ends.
const loud = "package main\n\nimport \"os\"\n\nfunc init() {\n\t_, _ = os.Stdout.Write(make([]byte, 12<<20))\n\tos.Exit(1)\n}\n"

// TestLoud grades an operator whose last words are megabytes that no terminal shows. It has no points, as any that does not start: it
// would be better for the student if the grader failed.
func TestLoud(t *testing.T) {
	tier.Nightly(t)
	p := newProof(t, grading.Assignment{Stage: "03-controller"})
	p.Expect(p.graded(isolation.WantBoth, "loud", map[string]string{"cmd/loud.go": loud})).To(p.scores(0))
}

// newProof prepares an assignment.
func newProof(t *testing.T, a grading.Assignment) proof {
	t.Helper()
	p := proof{WithT: NewWithT(t), t: t, work: t.TempDir()}
	// Not below that of the test, because the names of sockets must not be long.
	temporary, err := os.MkdirTemp("", "h-") //nolint:usetesting // its names are long
	p.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { p.Expect(os.RemoveAll(temporary)).To(Succeed()) })
	t.Setenv("TMPDIR", temporary)
	a.Root, a.Work = root, p.work
	p.chapter, err = grading.Prepare(t.Context(), a)
	p.Expect(err).NotTo(HaveOccurred())
	p.graders = map[string]*grading.Grader{}
	for _, want := range []string{isolation.WantBoth, isolation.WantOuter, isolation.WantNone} {
		p.graders[want] = p.grader(p.walls(want))
	}
	log := filepath.Join(p.work, "solution.log")
	began := time.Now()
	p.calibration, err = p.graders[isolation.WantBoth].Calibrate(t.Context(), log)
	p.Expect(err).NotTo(HaveOccurred(), read(log))
	t.Logf("the solution of %s: %v of %[2]v, %v", a.Stage, p.most(), time.Since(began).Round(time.Second))
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
