package browser_test

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/tutorial/browser"
)

// learner is somebody who works through a chapter, in the root of a clone, with a copy and on a machine on which nothing was done before.
type learner struct {
	t    *testing.T
	dir  string // the copy
	env  []string
	work string // the testbed's state
}

func newLearner(t *testing.T) learner {
	t.Helper()
	if os.Getenv("CLUSTER") != "embedded" {
		t.Skip("this test brings a cluster up: run it with make test-all, or CLUSTER=embedded")
	}
	work, err := os.MkdirTemp("", "walk-") // with a name that is short enough for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(work) })
	l := learner{t: t, work: work, dir: filepath.Join(work, "my-operator")}
	if os.Getenv("PICTURES") != "" {
		l.dir = "my-operator" // as the page names it
	}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, "MAKE") && !strings.HasPrefix(name, "TESTBED_") && name != "MFLAGS" {
			l.env = append(l.env, variable)
		}
	}
	l.env = append(l.env, "TESTBED_STATE="+work)
	return l
}

// command is a line that is typed in a terminal.
func (l learner) command(line string) *exec.Cmd {
	command := exec.Command("bash", "-c", line)
	command.Dir, command.Env = filepath.Join("..", ".."), l.env
	return command
}

// types types a line in a terminal, and waits until it is done.
func (l learner) types(line string) {
	l.t.Helper()
	begun := time.Now()
	if out, err := l.command(line).CombinedOutput(); err != nil {
		l.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	l.t.Logf("%s: %.1f s", line, time.Since(begun).Seconds())
}

// kubectl types a line in a terminal that has been told about the cluster.
func (l learner) kubectl(arguments string) {
	l.t.Helper()
	l.types(`eval "$(make -s env)" && kubectl ` + arguments)
}

// printed is what a program has printed so far.
type printed struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (p *printed) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text.Write(text)
	select {
	case p.more <- struct{}{}:
	default:
	}
	return len(text), nil
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

var invited = regexp.MustCompile(`http://127\.0\.0\.1:\d+/open/\w+`)

// learns types make learn, and returns the address that it prints, and what presses Ctrl-C.
func (l learner) learns(stage string) (invitation string, interrupt func()) {
	l.t.Helper()
	out := &printed{more: make(chan struct{}, 1)}
	command := l.command(fmt.Sprintf("exec make learn STAGE=%s DIR=%s", stage, l.dir))
	command.Stdout, command.Stderr = out, out
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		l.t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		_ = command.Wait() // make fails after Ctrl-C
		close(exited)
	}()
	interrupt = sync.OnceFunc(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGINT) // a terminal sends it to all of them
		<-exited
	})
	l.t.Cleanup(interrupt)
	for invitation == "" {
		select {
		case <-out.more:
			invitation = invited.FindString(out.String())
		case <-exited:
			l.t.Fatalf("make learn has stopped:\n%s", out)
		}
	}
	return invitation, interrupt
}

// killOperator kills the operator in the way that nothing can be done about.
func (l learner) killOperator() {
	l.t.Helper()
	running, err := supervisor.Attach(filepath.Join(l.work, "run", "testbed"))
	if err != nil {
		l.t.Fatal(err)
	}
	processes, err := running.Status(l.t.Context())
	if err != nil || len(processes) != 1 {
		l.t.Fatalf("there are %d operators: %v", len(processes), err)
	}
	if err := syscall.Kill(processes[0].PID, syscall.SIGKILL); err != nil {
		l.t.Fatal(err)
	}
}

// starts makes the copy.
func (l learner) starts(stage string) {
	l.t.Helper()
	l.types(fmt.Sprintf("make start STAGE=%s DIR=%s", stage, l.dir))
	if !filepath.IsAbs(l.dir) {
		l.t.Cleanup(func() { os.RemoveAll(filepath.Join("..", "..", l.dir)) })
	}
}

// writes takes over the solution of the chapter, as if the learner had written it.
func (l learner) writes(stage string) {
	l.t.Helper()
	solution := filepath.Join(l.work, "solution")
	l.types(fmt.Sprintf("make solution STAGE=%s DIR=%s && cp -R %[2]s/internal/. %s/internal/", stage, solution, l.dir))
}

// can waits until an action is possible, which is the button's own word for it.
func can(action string) chromedp.Action {
	return holds(fmt.Sprintf("(() => { const button = document.querySelector('[data-action=%s]'); return button.offsetHeight > 0 && button.ariaDisabled !== 'true'; })()", action))
}

// pressed presses the button of an action as soon as it can be.
func pressed(action string) chromedp.Action { return chromedp.Tasks{can(action), press(action)} }

// shows waits until a part of the panel has a text.
func shows(part, want string) chromedp.Action {
	return holds(fmt.Sprintf("document.querySelector('#learn %s')?.textContent.includes(%q)", part, want))
}

// is waits until a part of the panel has a text, and nothing else.
func is(part, want string) chromedp.Action {
	return holds(fmt.Sprintf("document.querySelector('#learn %s')?.textContent === %q", part, want))
}

// hides waits until no part of the panel has a text any more.
func hides(part, text string) chromedp.Action {
	return holds(fmt.Sprintf("!document.querySelector('#learn %s').textContent.includes(%q)", part, text))
}

// condition waits until the object that is shown has a condition.
func condition(kind, status, reason string) chromedp.Action {
	return holds(fmt.Sprintf(`[...document.querySelectorAll('#learn .conditions li')].some((each) =>
		each.querySelector('.type').textContent === %q && each.querySelector('.chip').textContent === %q && each.querySelector('.reason').textContent === %q)`, kind, status, reason))
}

// outcomes are those of the features of a check.
const outcomes = "[...document.querySelectorAll('#learn .features [data-outcome]')].map((each) => each.dataset.outcome)"

// walker is a tab in which the learner walks through a chapter.
type walker struct {
	t    *testing.T
	tab  context.Context
	seen *browser.Seen
}

// sees waits for what the page should show, and says what it shows if it does not.
func (w walker) sees(what string, actions ...chromedp.Action) {
	w.t.Helper()
	begun := time.Now()
	ctx, cancel := context.WithTimeout(w.tab, browser.Patience)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		shown := ""
		_ = chromedp.Run(w.tab, chromedp.Evaluate("document.querySelector('#learn')?.innerText ?? document.body.innerText", &shown))
		w.t.Fatalf("the page does not show %s: %v\n%s\nThe browser complains: %q", what, err, shown, w.seen.Complaints())
	}
	w.t.Logf("%s: %.1f s", what, time.Since(begun).Seconds())
}

// keeps takes a picture for the docs of what the page shows after actions. PICTURES=dir keeps it.
func (w walker) keeps(name string, actions ...chromedp.Action) {
	w.t.Helper()
	// Only the tab in front is painted.
	w.sees("a picture", page.BringToFront(), chromedp.EmulateViewport(1280, 840), chromedp.MouseEvent(input.MouseMoved, 1, 1), chromedp.Tasks(actions),
		holds("document.getAnimations().every((each) => each.playState === 'finished' || each.effect.getTiming().iterations === Infinity)"),
		chromedp.Evaluate("window.painted = false; requestAnimationFrame(() => requestAnimationFrame(() => { window.painted = true; })); 1", nil), holds("window.painted"))
	keep(w.tab, w.t, filepath.Join(pictures(w.t), name+".png"))
	w.sees("the page again", wide)
}

// opens opens an address in a tab that takes itself for the one in front, without which nothing in it is drawn.
func (w walker) opens(address string) {
	w.t.Helper()
	w.sees(address, emulation.SetFocusEmulationEnabled(true), wide, chromedp.Navigate(address), chromedp.WaitVisible("#learn"), is(".live", "Live"))
}

// A learner walks 03-controller with make learn, from a machine on which nothing was done to the last green feature.
func TestLearn(t *testing.T) {
	t.Parallel()
	l := newLearner(t)
	w := walker{t: t, tab: browser.Start(t)}
	w.seen = browser.Watch(w.tab, t)
	other := walker{t: t, tab: browser.Tab(w.tab, t)}
	other.seen = browser.Watch(other.tab, t)
	const stage = "03-controller"
	l.starts(stage)
	t.Cleanup(func() { l.types("make down || true") })
	invitation, interrupt := l.learns(stage)

	// There is nothing yet, and the page says what is missing and which button brings it.
	w.opens(invitation)
	w.sees("that there is no cluster", is(".clusterState", "not running"), shows(".clusterMessage", "make up"), can("start"),
		shows(".statusWhy", "there is no cluster: start it first"), shows(".noObjects", "once a cluster is running"))
	if at := value[string](w.tab, t, "location.pathname"); at != "/tutorial/03-controller/" {
		t.Errorf("make learn begins at %s", at)
	}
	address, _ := url.Parse(invitation)
	other.opens("http://" + address.Host + "/tutorial/04-status/")

	w.sees("the cluster", pressed("start"), is(".clusterState", "running"), shows(".noObjects", "What you apply in your terminal shows up here."))
	other.sees("the cluster, too", is(".clusterState", "running"))
	l.types("make install STAGE=" + stage)
	l.kubectl("apply -f tutorial/03-controller/config/samples/cache_v1alpha1_memcached.yaml")
	w.sees("the sample", shows(".tree", "memcached-sample"))

	// The copy is not written yet.
	w.sees("a check that fails", pressed("check"), holds(outcomes+".length === 5"), is(".score", "0 of 5 passed"),
		holds(outcomes+".every((outcome) => outcome === 'failed')"), shows(".features", "Look at the owner reference of the Deployment"), can("check"))
	w.keeps("learn-failing-check", chromedp.Evaluate("document.querySelector('#learn .scoreRow').scrollIntoView({ block: 'start', behavior: 'instant' })", nil))
	w.sees("a hint", pressed("hint"), shows(".hintText", "Hint 1 of"))
	l.writes(stage)
	w.sees("the operator", pressed("run"), is(".operatorState", "running"), shows(".operatorNote", "my-operator"), shows(".log", "Starting workers"))
	w.sees("three pods", shows(".tree", "3/3"), shows(".writes", "deployments/memcached-sample"), shows(".events", "ScalingReplicaSet"))
	other.sees("three pods, too", shows(".tree", "3/3"))

	// Each feature turns green as soon as it is known.
	w.sees("features one by one", pressed("check"), holds(outcomes+".includes('passed') && "+outcomes+".includes('running')"))
	w.sees("all features", is(".score", "5 of 5 passed"), holds(outcomes+".every((outcome) => outcome === 'passed')"), can("check"),
		shows(".chapterLine", "1 of "))
	w.keeps("learn", chromedp.Evaluate("document.querySelector('#learn .body').scrollTo({ top: 0, behavior: 'instant' })", nil))

	// The operator dies.
	l.killOperator()
	w.sees("that the operator is gone", is(".operatorState", "exited"), shows(".operatorMessage", "killed"), can("run"))

	// The operator of the next chapter reports what goes wrong.
	other.sees("the next operator", pressed("run"), is(".operatorState", "running"), shows(".operatorNote", "the chapter’s"), condition("Available", "True", "AllReplicasReady"))
	other.sees("the question", pressed("break"), chromedp.WaitVisible(".learn-dialog"), browser.Click(".learn-dialog .yes"))
	other.sees("what is broken", shows(".tree", "CrashLoopBackOff"), condition("Degraded", "True", "PodsFailing"))
	w.sees("what is broken, too", shows(".tree", "CrashLoopBackOff"), condition("Degraded", "True", "PodsFailing"))
	other.keeps("learn-broken", chromedp.Evaluate("document.querySelector('#learn .body').scrollTo({ top: 0, behavior: 'instant' })", nil))
	other.sees("what is healed", pressed("heal"), condition("Degraded", "False", "AsExpected"), condition("Available", "True", "AllReplicasReady"), hides(".tree", "CrashLoopBackOff"))

	// The cluster goes away.
	l.types("make down")
	for _, each := range []walker{w, other} {
		each.sees("that the cluster is gone", is(".clusterState", "not running"), shows(".clusterMessage", "make up"), can("start"),
			is(".operatorState", "not running"), shows(".noObjects", "once a cluster is running"))
		quiet(t, each.seen)
		if hosts := each.seen.Hosts(); !slices.Equal(hosts, []string{address.Host}) {
			t.Errorf("the page asked %q, expected %s alone", hosts, address.Host)
		}
	}
	interrupt()
	w.sees("that make learn is gone", is(".live", "Not live"), shows(".lost", "Does it still run in its terminal?"))
}
