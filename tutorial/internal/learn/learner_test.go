package learn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/tutorial/internal/check"
	"github.com/example/operator-testbed/tutorial/internal/event"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
	"github.com/example/operator-testbed/tutorial/internal/learn/panel"
	"github.com/example/operator-testbed/tutorial/internal/progress"
	"github.com/example/operator-testbed/tutorial/internal/web"
)

const repository = "../../.."

// fakeLearner is a learner whose commands do what a test says.
type fakeLearner struct {
	Learner

	mu     sync.Mutex
	called []string // of the testbed
	events []event.Event
	// testbed, if it is set, is what the testbed does.
	testbed func(ctx context.Context, out, messages io.Writer, args []string) error
	check   func(ctx context.Context, in exercises.CheckInput) ([]framework.Result, error)
}

func newFake(t *testing.T) *fakeLearner {
	f := &fakeLearner{}
	f.Learner = Learner{
		Root: repository, Chapter: "03-controller", Copies: t.TempDir(), ClusterKind: "embedded", ClusterName: "mine",
		Testbed: func(ctx context.Context, out, messages io.Writer, args ...string) error {
			f.mu.Lock()
			f.called = append(f.called, strings.Join(args, " "))
			f.mu.Unlock()
			if f.testbed == nil {
				return nil
			}
			return f.testbed(ctx, out, messages, args)
		},
		Check: func(ctx context.Context, in exercises.CheckInput) ([]framework.Result, error) {
			return f.check(ctx, in)
		},
		Hint: func(dir, chapter string, exercise int, out io.Writer) error {
			_, err := fmt.Fprintf(out, "a hint about %q, %s, %d", dir, chapter, exercise)
			return err
		},
		Reset: func(_ context.Context, dir string, out io.Writer) error {
			_, err := fmt.Fprintf(out, "%s is new", dir)
			return err
		},
		Progress: func() (progress.Progress, error) {
			chapters, labs, err := exercises.Names(repository)
			f.mu.Lock()
			defer f.mu.Unlock()
			return progress.Of(chapters, labs, f.events), err
		},
	}
	return f
}

// withSolution gives the learner a copy, which is the solution of the chapter.
func (f *fakeLearner) withSolution(t *testing.T) {
	t.Helper()
	f.Dir = filepath.Join(t.TempDir(), "my-operator")
	if err := exercises.Solution(t.Context(), repository, f.Chapter, f.Dir, io.Discard); err != nil {
		t.Fatal(err)
	}
}

// model returns the model, whose cluster is never there.
func (f *fakeLearner) model(t *testing.T) *model {
	t.Helper()
	m, err := newModel(t.Context(), f.Learner)
	if err != nil {
		t.Fatal(err)
	}
	m.find = func(context.Context) (*up, error) { return nil, nil }
	m.pause = time.Millisecond
	return m
}

// isUp makes a cluster that is up.
func (m *model) isUp() { m.update(func() { m.cluster.State = Running }) }

// patience is how long a test waits for what only a fault keeps from coming: a busy machine takes minutes to compile something.
const patience = 10 * time.Minute

// until waits for a state.
func until(t *testing.T, m *model, what string, is func(State) bool) State {
	t.Helper()
	limit := time.After(patience)
	for {
		s := m.state()
		if is(s) {
			return s
		}
		select {
		case <-m.news:
		case <-limit:
			text, _ := json.Marshal(s.Task)
			t.Fatalf("%s is not there; the task is %s, the operator %+v", what, text, s.Operator)
		}
	}
}

func done(s State) bool { return !s.Task.Running }

func action(s State, name string) Action {
	return s.Actions[slices.IndexFunc(s.Actions, func(a Action) bool { return a.Name == name })]
}

const host = "127.0.0.1:7007"

// browser is one that has been let in.
type browser struct {
	handler http.Handler
	cookie  string
}

func newBrowser(t *testing.T, m *model) browser {
	t.Helper()
	guard := web.NewGuard("learn-7007", []string{host})
	b := browser{handler: guard.Handler(m.handler(http.NotFoundHandler(), panel.Files, http.NotFoundHandler()), nil)}
	response, _ := b.ask("GET", guard.Invite(), "")
	cookie, err := http.ParseSetCookie(response.Header().Get("Set-Cookie"))
	if err != nil {
		t.Fatal(err)
	}
	b.cookie = "Cookie: " + cookie.Name + "=" + cookie.Value
	return b
}

// ask sends a request with a form and header fields, as "Name: value".
func (b browser) ask(method, path, form string, fields ...string) (*httptest.ResponseRecorder, string) {
	request := httptest.NewRequest(method, path, strings.NewReader(form))
	request.Host = host
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		if name == "Host" {
			request.Host = value
		}
		request.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, request)
	return w, strings.TrimSpace(w.Body.String())
}

// Nothing is done for anybody but the page, and nothing that it has no button for.
func TestRefusals(t *testing.T) {
	g := NewWithT(t)
	f := newFake(t)
	b := newBrowser(t, f.model(t))
	for _, test := range []struct {
		name, method, path, form string
		fields                   []string
		status                   int
		says                     string
	}{
		{"no cookie", "POST", "/-/do/hint", "", nil, 401, ""},
		{"no cookie, for the stream", "GET", "/-/stream", "", nil, 401, ""},
		{"no cookie, for the script", "GET", "/-/panel.js", "", nil, 401, ""},
		{"by GET", "GET", "/-/do/hint", "", []string{b.cookie}, 404, ""},
		{"a foreign host", "POST", "/-/do/hint", "", []string{b.cookie, "Host: evil.example:7007"}, 421, ""},
		{"a form of another site", "POST", "/-/do/hint", "", []string{b.cookie, "Sec-Fetch-Site: cross-site"}, 403, ""},
		{"a form of another port", "POST", "/-/do/hint", "", []string{b.cookie, "Sec-Fetch-Site: same-site"}, 403, ""},
		{"a form of another site, in an old browser", "POST", "/-/do/hint", "", []string{b.cookie, "Origin: https://evil.example"}, 403, ""},
		{"an unknown action", "POST", "/-/do/rm", "", []string{b.cookie}, 400, `"rm" is not an action: use one of start, stop`},
		{"an action in a path", "POST", "/-/do/start/now", "", []string{b.cookie}, 404, ""},
		{"an unknown field", "POST", "/-/do/hint", "dir=/etc", []string{b.cookie}, 400, `the field "dir" is unknown`},
		{"fields in the address", "POST", "/-/do/reset?confirm=yes", "", []string{b.cookie}, 400, "the fields belong into the form, and not into the address"},
		{"a field twice", "POST", "/-/do/hint", "exercise=1&exercise=2", []string{b.cookie}, 400, "the field exercise was sent 2 times: send it once"},
		{"a path for a chapter", "POST", "/-/do/run", "chapter=../operator", []string{b.cookie}, 400, `"../operator" is not a chapter`},
		{"a command for a lab", "POST", "/-/do/break", "lab=x%3Breboot&confirm=yes", []string{b.cookie}, 400, `"x;reboot" is not a lab`},
		{"a word for a number", "POST", "/-/do/hint", "exercise=one", []string{b.cookie}, 400, `"one" is not the number of an exercise`},
		{"no number of an exercise", "POST", "/-/do/hint", "exercise=0", []string{b.cookie}, 400, `"0" is not the number of an exercise`},
		{"too much", "POST", "/-/do/hint", "chapter=" + strings.Repeat("x", 5000), []string{b.cookie}, 400, "the form can't be read: http: request body too large"},
		{"break without a yes", "POST", "/-/do/break", "lab=hands-off", []string{b.cookie}, 400, "break needs the field confirm=yes, because it changes what is there"},
		{"reset without a yes", "POST", "/-/do/reset", "confirm=y", []string{b.cookie}, 400, "reset needs the field confirm=yes, because it changes what is there"},
		{"without a cluster", "POST", "/-/do/run", "", []string{b.cookie}, 409, "there is no cluster: start it first"},
		{"without a copy", "POST", "/-/do/check", "", []string{b.cookie}, 409, "there is no copy of yours: stop make learn, and type make learn STAGE=03-controller DIR=my-operator"},
		{"nothing to cancel", "POST", "/-/do/cancel", "", []string{b.cookie}, 409, "there is nothing to cancel"},
		{"no operator to stop", "POST", "/-/do/halt", "", []string{b.cookie}, 409, "no operator was started here"},
		{"nothing to heal", "POST", "/-/do/heal", "", []string{b.cookie}, 409, "nothing is broken"},
		{"no pods to crash", "POST", "/-/do/break", "confirm=yes&lab=crashing-pods", []string{b.cookie}, 409, "there is no cluster with pods to break: start it first"},
		{"no pods to break", "POST", "/-/do/break", "confirm=yes", []string{b.cookie}, 409, "there is no cluster with pods to break: start it first"},

		{"the script", "GET", "/-/panel.js", "", []string{b.cookie}, 200, ""},
		{"the style sheet", "HEAD", "/-/panel.css", "", []string{b.cookie}, 200, ""},
	} {
		response, body := b.ask(test.method, test.path, test.form, test.fields...)
		g.Expect(response.Code).To(Equal(test.status), "%s: %s", test.name, body)
		g.Expect(body).To(HavePrefix(test.says), test.name)
		g.Expect(response.Header().Get("Access-Control-Allow-Origin")).To(BeEmpty(), test.name)
		if test.says != "" {
			g.Expect(response.Header().Get("Content-Type")).To(HavePrefix("text/plain"), test.name)
		}
	}
	g.Expect(f.called).To(BeEmpty())
}

// One task runs at a time, and can be canceled.
func TestOneTaskAtATime(t *testing.T) {
	g := NewWithT(t)
	f := newFake(t)
	f.testbed = func(ctx context.Context, out, _ io.Writer, _ []string) error {
		fmt.Fprintln(out, "   1.2 s  Cluster  etcd")
		<-ctx.Done()
		return ctx.Err()
	}
	m := f.model(t)
	b := newBrowser(t, m)
	response, body := b.ask("POST", "/-/do/start", "chapter=03-controller", b.cookie)
	g.Expect(response.Code).To(Equal(http.StatusNoContent), body)
	s := until(t, m, "a line", func(s State) bool { return s.Task.Line == "1.2 s  Cluster  etcd" })
	g.Expect(s.Task.Running).To(BeTrue())
	g.Expect(s.Cluster.State).To(Equal(Starting))
	for _, other := range []string{"hint", "start"} {
		response, _ = b.ask("POST", "/-/do/"+other, "", b.cookie)
		g.Expect(response.Code).To(Equal(http.StatusConflict))
	}
	g.Expect(action(s, ActionHint)).To(Equal(Action{Name: "hint", Why: "wait until start is done, or cancel it"}))
	response, _ = b.ask("POST", "/-/do/cancel", "", b.cookie)
	g.Expect(response.Code).To(Equal(http.StatusNoContent))
	s = until(t, m, "the end", done)
	g.Expect(s.Task.Error).To(Equal("start was canceled"))
	g.Expect(f.called).To(Equal([]string{"--name=mine up"}))
}

// A task that fails says why in the words of the command.
func TestTaskFails(t *testing.T) {
	g := NewWithT(t)
	f := newFake(t)
	f.ClusterKind = "kind"
	f.testbed = func(_ context.Context, _, messages io.Writer, _ []string) error {
		fmt.Fprintln(messages, "testbed: Docker does not run: make docker-up starts it")
		return errors.New("exit status 1")
	}
	m := f.model(t)
	g.Expect(m.do(request{action: ActionStart})).To(Succeed())
	s := until(t, m, "the end", done)
	g.Expect(s.Task.Error).To(Equal("Docker does not run: make docker-up starts it"))
	g.Expect(f.called).To(Equal([]string{"--name=mine kind up"}))
	m.isUp()
	g.Expect(action(m.state(), ActionRun).Why).To(HavePrefix("on a kind cluster the operator runs as an image"))
}

func TestRunAndHalt(t *testing.T) {
	g := NewWithT(t)
	f := newFake(t)
	exit := make(chan error)
	f.testbed = func(ctx context.Context, out, messages io.Writer, _ []string) error {
		fmt.Fprint(messages, "testbed: compiling the operator of first-operator\ntestbed: the operator of first-operator is ready; Ctrl-C stops it\n")
		for i := range 100 {
			fmt.Fprintf(out, "line %d\n", i)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-exit:
			if err != nil {
				fmt.Fprintln(messages, "testbed:", err)
			}
			return err
		}
	}
	m := f.model(t)
	m.isUp()
	g.Expect(m.do(request{action: ActionRun})).To(Succeed())
	s := until(t, m, "the log", func(s State) bool { return slices.Contains(s.Operator.Log, "line 99") })
	g.Expect(s.Operator.State).To(Equal(Running))
	g.Expect(s.Operator.Source).To(Equal(FromChapter))
	g.Expect(s.Operator.Log).To(HaveLen(mostLog))
	g.Expect(m.do(request{action: ActionRun})).To(MatchError("the operator runs already"))
	g.Expect(m.do(request{action: ActionHalt})).To(Succeed())
	s = until(t, m, "the end", func(s State) bool { return s.Operator.State != Running })
	g.Expect(s.Operator.State).To(Equal(Stopped))

	g.Expect(m.do(request{action: ActionRun, chapter: "19-finished"})).To(Succeed())
	exit <- errors.New("the operator was ended by the signal killed")
	s = until(t, m, "the end", func(s State) bool { return s.Operator.State == Exited })
	g.Expect(s.Operator.Message).To(Equal("the operator was ended by the signal killed"))
	g.Expect(s.Operator.Source).To(Equal(FromFinished))
	g.Expect(m.do(request{action: ActionRun, chapter: "00-control-loop"})).To(MatchError("00-control-loop has no operator to run on this machine"))
	g.Expect(f.called).To(Equal([]string{"--name=mine run --operator=tutorial/03-controller", "--name=mine run --operator=operator"}))
}

// What the server has started ends with it, and is waited for.
func TestTheEndStopsEverything(t *testing.T) {
	g := NewWithT(t)
	f := newFake(t)
	ended := make(chan string, 2)
	f.testbed = func(ctx context.Context, _, _ io.Writer, args []string) error {
		<-ctx.Done()
		ended <- args[1]
		return nil
	}
	life, end := context.WithCancel(t.Context())
	m, err := newModel(life, f.Learner)
	g.Expect(err).NotTo(HaveOccurred())
	m.isUp()
	g.Expect(m.do(request{action: ActionRun})).To(Succeed())
	g.Expect(m.do(request{action: ActionStop})).To(Succeed())
	end()
	m.wait()
	g.Expect([]string{<-ended, <-ended}).To(ConsistOf("run", "down"))
	g.Expect(m.do(request{action: ActionHint})).To(MatchError("make learn is stopping"))
}

func TestCheckStreams(t *testing.T) {
	g := NewWithT(t)
	f := newFake(t)
	f.withSolution(t)
	features, err := check.Features(filepath.Join(repository, "tutorial", "03-controller", "test", "e2e"))
	g.Expect(err).NotTo(HaveOccurred())
	goOn := make(chan struct{})
	failed := framework.Result{
		Test: features[1] + "/x", Outcome: framework.DoesNotHold, Failed: true, Step: "scale it", Expected: "3 replicas", Seen: "1", Feature: "a port",
	}
	f.check = func(ctx context.Context, in exercises.CheckInput) ([]framework.Result, error) {
		<-goOn
		if _, err := in.Cluster(ctx); err != nil {
			return nil, err
		}
		<-goOn
		in.Done(framework.Result{Test: features[0], Outcome: framework.Holds})
		in.Done(failed)
		<-goOn
		results := []framework.Result{{Test: features[0], Outcome: framework.Holds}, failed}
		for _, name := range features[2:] {
			results = append(results, framework.Result{Test: name, Outcome: framework.NotTried, Reason: "no cluster"})
		}
		return results, &exercises.NotYetError{Score: check.ScoreOf(results)}
	}
	m := f.model(t)
	g.Expect(action(m.state(), ActionCheck)).To(Equal(Action{Name: ActionCheck, Enabled: true, Chapter: "03-controller"}))
	g.Expect(m.do(request{action: ActionCheck, chapter: "04-status"})).To(MatchError(ContainSubstring("is for the chapter 03-controller, and this page is about 04-status")))
	g.Expect(m.do(request{action: ActionCheck, chapter: "03-controller"})).To(Succeed())
	s := until(t, m, "the features", func(s State) bool { return len(s.Task.Features) == len(features) })
	g.Expect(s.Task.Features[0]).To(Equal(Feature{Name: features[0], Title: "nothing is left after a Memcached is deleted", Outcome: Waiting}))
	goOn <- struct{}{}
	until(t, m, "the start", func(s State) bool { return s.Task.Features[0].Outcome == Running })
	goOn <- struct{}{}
	s = until(t, m, "a result", func(s State) bool { return s.Task.Features[1].Outcome == Failed })
	g.Expect(s.Task.Features[0].Outcome).To(Equal(Passed))
	g.Expect(s.Task.Features[1]).To(And(HaveField("Step", "scale it"), HaveField("Expected", "3 replicas"), HaveField("Seen", "1"), HaveField("Hint", HavePrefix("The port is"))))
	g.Expect(s.Task.Line).To(Equal(fmt.Sprintf("2 of %d features are checked", len(features))))
	g.Expect(s.Task.Passed).To(Equal(1))
	goOn <- struct{}{}
	s = until(t, m, "the end", done)
	g.Expect(s.Task.Error).To(BeEmpty())
	g.Expect(s.Task.Line).To(Equal("1 of 2 features hold"))
	g.Expect(s.Task.Features[2]).To(And(HaveField("Outcome", Skipped), HaveField("Seen", "no cluster")))

	// A hint leaves what was found.
	g.Expect(m.do(request{action: ActionHint, exercise: 2})).To(Succeed())
	s = until(t, m, "the end", done)
	g.Expect(s.Task.Hint).To(Equal(fmt.Sprintf("a hint about %q, 03-controller, 2", f.Dir)))
	g.Expect(s.Task.Features[1].Outcome).To(Equal(Failed))
	g.Expect(m.do(request{action: ActionHint, chapter: "06-watches"})).To(Succeed())
	g.Expect(until(t, m, "the end", done).Task.Hint).To(Equal(`a hint about "", 06-watches, 0`))

	f.check = func(_ context.Context, in exercises.CheckInput) ([]framework.Result, error) {
		fmt.Fprintln(in.Out, "cmd/main.go:1: syntax error")
		return nil, exercises.ErrNotBuilt
	}
	g.Expect(m.do(request{action: ActionCheck})).To(Succeed())
	s = until(t, m, "the end", done)
	g.Expect(s.Task.Error).To(Equal("the operator does not compile:\ncmd/main.go:1: syntax error"))
	g.Expect(s.Task.Features[0].Outcome).To(Equal(Skipped))
}

// A lab is a copy beside the learner's own, to which heal goes back. The hints of features would give its fault away.
func TestBreakAndHeal(t *testing.T) {
	g := NewWithT(t)
	f := newFake(t)
	f.withSolution(t)
	m := f.model(t)
	for _, name := range []string{"broken-hands-off", "broken-hands-off-2"} {
		g.Expect(m.do(request{action: ActionBreak, lab: "hands-off", confirmed: true})).To(Succeed())
		s := until(t, m, "the end", done)
		g.Expect(s.Task.Error).To(BeEmpty())
		g.Expect(s.Dir).To(Equal(filepath.Join(f.Copies, name)))
		g.Expect(s.Task.Line).To(ContainSubstring("A user scales the Deployment"))
	}
	f.check = func(_ context.Context, in exercises.CheckInput) ([]framework.Result, error) {
		g.Expect(in.Dir).To(HaveSuffix("broken-hands-off-2"))
		return []framework.Result{{Test: "TestRepair", Outcome: framework.DoesNotHold, Failed: true, Message: "expected 3"}}, &exercises.NotYetError{}
	}
	g.Expect(m.do(request{action: ActionCheck})).To(Succeed())
	s := until(t, m, "the end", done)
	repair := s.Task.Features[slices.IndexFunc(s.Task.Features, func(f Feature) bool { return f.Name == "TestRepair" })]
	g.Expect(repair).To(And(HaveField("Seen", "expected 3"), HaveField("Hint", "")))

	g.Expect(m.do(request{action: ActionReset, confirmed: true})).To(Succeed())
	g.Expect(until(t, m, "the end", done).Task.Line).To(HaveSuffix("broken-hands-off-2 is new"))
	for _, dir := range []string{filepath.Join(f.Copies, "broken-hands-off"), f.Dir} {
		g.Expect(action(m.state(), ActionHeal).Enabled).To(BeTrue())
		g.Expect(m.do(request{action: ActionHeal})).To(Succeed())
		g.Expect(until(t, m, "the end", done).Dir).To(Equal(dir))
	}
	g.Expect(action(m.state(), ActionHeal).Enabled).To(BeFalse())
}

// A page without a cluster says what brings one, and sees one come, go, and be in somebody else's hands.
func TestFollow(t *testing.T) {
	g := NewWithT(t)
	f := newFake(t)
	m := f.model(t)
	type answer struct {
		up  *up
		err error
	}
	answers, gone := make(chan answer), make(chan struct{})
	m.find = func(ctx context.Context) (*up, error) {
		select {
		case a := <-answers:
			return a.up, a.err
		case <-ctx.Done():
			return nil, nil
		}
	}
	client, _, _ := observedServer(t)
	m.observe = func(_ *up, changed func()) (*observer, error) { return observerWith(client, changed), nil }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.follow(ctx) }()
	is := func(state, message string) {
		t.Helper()
		s := until(t, m, state, func(s State) bool { return s.Cluster.State == state && s.Cluster.Message == message })
		g.Expect(action(s, ActionRun).Enabled).To(Equal(state == Running))
		g.Expect(action(s, ActionStart).Enabled).To(Equal(state == Absent))
	}
	answers <- answer{}
	is(Absent, "there is no cluster: start it, or type make up NAME=mine in a terminal")
	answers <- answer{err: errors.New("Docker does not answer")}
	is(Absent, "Docker does not answer")
	answers <- answer{err: errStarting}
	is(Starting, "somebody brings it up")
	answers <- answer{up: &up{closing: func(context.Context) { <-gone }}}
	is(Running, "")
	close(gone)
	is(Stopping, "")
	answers <- answer{}
	is(Absent, "there is no cluster: start it, or type make up NAME=mine in a terminal")
	stop()
	g.Expect(<-ended).To(Succeed())
}

// Each list of the state is a list for the page, also where there is nothing.
func TestStateHasLists(t *testing.T) {
	g := NewWithT(t)
	text, err := json.Marshal(newFake(t).model(t).state())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).NotTo(ContainSubstring("null"))
}

func TestProgressAndChapter(t *testing.T) {
	g := NewWithT(t)
	f := newFake(t)
	f.Chapter, f.ProgressDir = "", filepath.Join(t.TempDir(), "state")
	f.events = []event.Event{
		{Stage: "quickstart", Kind: event.Check, Outcome: event.Pass, Passed: 4, Of: 4},
		{Stage: "00-control-loop", Kind: event.Check, Outcome: event.Pass, Passed: 3, Of: 3},
	}
	m := f.model(t)
	s := m.state()
	g.Expect(s.Chapter).To(Equal("01-custom-resource"), "the first that is not done")
	g.Expect(s.Progress[1]).To(Equal(Progress{Name: "00-control-loop", Title: "The control loop", Kind: KindChapter, Done: true, Passed: 3, Of: 3}))
	g.Expect(s.Labs).NotTo(BeEmpty())

	// A check in a terminal shows.
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.followProgress(ctx) }()
	f.mu.Lock()
	f.events = append(f.events, event.Event{Stage: "01-custom-resource", Kind: event.Check, Outcome: event.Pass})
	f.mu.Unlock()
	file := filepath.Join(f.ProgressDir, "events.jsonl")
	for watched := false; !watched; { // until the directory is there
		_, err := event.Append(file, event.Event{Kind: event.Hint})
		watched = err == nil && m.state().Progress[2].Done
	}
	stop()
	g.Expect(<-ended).To(Succeed())

	f.Chapter = "99-nothing"
	_, err := newModel(t.Context(), f.Learner)
	g.Expect(err).To(MatchError(HavePrefix("there is no STAGE=99-nothing: ")))
	f.Dir = t.TempDir()
	_, err = newModel(t.Context(), f.Learner)
	g.Expect(err).To(MatchError(ContainSubstring("was not made by make start")))
}

// A page without a site says what builds one.
func TestServeNeedsASite(t *testing.T) {
	err := Serve(t.Context(), Options{Learner: newFake(t).Learner, Site: filepath.Join(t.TempDir(), "none")})
	NewWithT(t).Expect(err).To(MatchError(HaveSuffix("none: type make site")))
}

func TestLines(t *testing.T) {
	g := NewWithT(t)
	var got []string
	w := &lines{each: func(line string) { got = append(got, line) }}
	for _, part := range []string{"a", "b\nc\r\n10%\r20%\r\n", "\xff\n", strings.Repeat("x", 70_000)} {
		g.Expect(w.Write([]byte(part))).To(Equal(len(part)))
	}
	g.Expect(got[:4]).To(Equal([]string{"ab", "c", "20%", "�"}))
	g.Expect(got).To(HaveLen(5))
}
