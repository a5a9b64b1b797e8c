package learn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/kind"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/check"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
)

// taskOf returns what does a request, or why it can't be done. The lock is held.
func (m *model) taskOf(r request) (func(context.Context) error, error) {
	dir, c := m.dir, m.chosen(r)
	if (r.action == ActionCheck || r.action == ActionReset) && !m.hasCopy(r) {
		return nil, notNow("%s is for the chapter %s, and this page is about %s: open the page of %[2]s", dir, m.stage, r.chapter)
	}
	switch r.action {
	case ActionStart:
		return func(ctx context.Context) error { return m.testbed(ctx, "up", "the cluster is up") }, nil
	case ActionStop:
		return func(ctx context.Context) error { return m.testbed(ctx, "down", "the cluster is down") }, nil
	case ActionCheck:
		broken := m.lab != ""
		return func(ctx context.Context) error { return m.check(ctx, c, dir, !broken) }, nil
	case ActionHint:
		if !m.hasCopy(r) {
			dir = ""
		}
		return func(context.Context) error { return m.hint(dir, c.Name, r.exercise) }, nil
	case ActionReset:
		return func(ctx context.Context) error {
			return m.printed(func(out *strings.Builder) error { return m.Reset(ctx, dir, out) })
		}, nil
	case ActionHeal:
		return m.heal, nil
	}
	if r.lab != "" && r.lab != CrashingPods {
		before := append(slices.Clone(m.before), dir)
		return func(ctx context.Context) error { return m.breakCopy(ctx, r.lab, before) }, nil
	}
	switch {
	case m.cluster.State != Running:
		return nil, notNow("there is no cluster with pods to break: start it first")
	case m.ClusterKind != embedded.Kind:
		return nil, notNow("only simulated pods can play a crash, and those of a kind cluster are real: choose a lab")
	}
	if pods, _ := m.observer.pods(); pods == 0 {
		return nil, notNow("there is no pod to break: apply the sample first")
	}
	observer := m.observer
	return func(ctx context.Context) error { return m.crash(ctx, observer) }, nil
}

// testbed runs the testbed's command line about the learner's cluster, and shows done if that succeeds.
func (m *model) testbed(ctx context.Context, command, done string) error {
	args := []string{"--name=" + m.ClusterName, command}
	if m.ClusterKind == kind.Kind {
		args = []string{"--name=" + m.ClusterName, kind.Kind, command}
	}
	said := lastLines{most: 20}
	show := &lines{each: m.line}
	err := m.Testbed(ctx, show, &lines{each: func(line string) {
		said.add(line)
		m.line(line)
	}}, args...)
	if err != nil && len(said.lines) > 0 {
		return errors.New(said.String())
	}
	if err == nil {
		m.line(done)
	}
	return err
}

// check checks the copy in dir, and shows each feature as soon as something is known of it.
func (m *model) check(ctx context.Context, c chapter.Chapter, dir string, hints bool) error {
	features, err := check.Features(filepath.Join(m.Root, c.SuiteDirectory()))
	if err != nil {
		return err
	}
	m.update(func() {
		m.task.Line, m.task.Of = "compiling "+dir, len(features)
		for _, name := range features {
			m.task.Features = append(m.task.Features, Feature{Name: name, Title: c.Features[name].Claim, Outcome: Waiting})
		}
	})
	out := lastLines{most: 40}
	results, err := m.Check(ctx, exercises.CheckInput{
		Dir: dir, Out: &lines{each: out.add},
		Cluster: func(context.Context) ([]string, error) {
			m.update(func() {
				m.task.Line = "starting a cluster for the check"
				for i := range m.task.Features {
					m.task.Features[i].Outcome = Running
				}
			})
			return nil, nil
		},
		Done: func(r framework.Result) { m.update(func() { m.take(c, r, hints) }) },
	})
	m.update(func() {
		for _, r := range results {
			m.take(c, r, hints)
		}
		if score := check.ScoreOf(results); len(results) > 0 {
			m.task.Passed, m.task.Of, m.task.Line = score.Held, score.Of, score.String()
		}
	})
	switch {
	case errors.Is(err, exercises.ErrNotBuilt):
		return fmt.Errorf("the operator does not compile:\n%s", out.String())
	case errors.As(err, new(*exercises.NotYetError)): // the features say so
		return nil
	}
	return err
}

// take shows the result of a feature.
func (m *model) take(c chapter.Chapter, r framework.Result, hints bool) {
	name := check.NameOf(r)
	i := slices.IndexFunc(m.task.Features, func(f Feature) bool { return f.Name == name })
	if i < 0 {
		return
	}
	m.task.Features[i] = featureOf(c, r, hints)
	done := 0
	m.task.Passed = 0
	for _, f := range m.task.Features {
		if f.Outcome != Waiting && f.Outcome != Running {
			done++
		}
		if f.Outcome == Passed {
			m.task.Passed++
		}
	}
	m.task.Line = fmt.Sprintf("%d of %d features are checked", done, len(m.task.Features))
}

// featureOf returns what the page shows of a result.
func featureOf(c chapter.Chapter, r framework.Result, hints bool) Feature {
	name := check.NameOf(r)
	f := Feature{Name: name, Title: cmp.Or(c.Features[name].Claim, r.Feature)}
	switch {
	case r.Outcome == framework.Holds:
		f.Outcome = Passed
		return f
	case r.Outcome == framework.DoesNotHold:
		f.Outcome, f.Step = Failed, short(r.Step)
		f.Expected, f.Seen = short(r.Expected), short(r.Seen)
		if r.Expected == "" {
			f.Seen = short(r.Message)
		}
	case r.Failed:
		f.Outcome, f.Seen = Failed, short(r.Reason)
	default:
		f.Outcome, f.Seen = Skipped, short(r.Reason)
		return f
	}
	if hints {
		f.Hint = c.Features[name].Hint
	}
	return f
}

func (m *model) hint(dir, stage string, exercise int) error {
	var out strings.Builder
	err := m.Hint(dir, stage, exercise, &out)
	m.update(func() { m.task.Hint = short(strings.TrimSpace(out.String())) })
	return err
}

// printed shows what a command prints.
func (m *model) printed(do func(out *strings.Builder) error) error {
	var out strings.Builder
	err := do(&out)
	m.line(out.String())
	return err
}

// breakCopy makes a copy of the operator of a lab, with its fault, and goes on with that. The copies before are those to go back to.
func (m *model) breakCopy(ctx context.Context, lab string, before []string) error {
	dir, err := m.free("broken-" + lab)
	if err != nil {
		return err
	}
	return m.printed(func(out *strings.Builder) error {
		if err := exercises.Break(ctx, m.Root, lab, dir, out); err != nil {
			return err
		}
		return m.goOnWith(dir, before)
	})
}

// free returns an unused directory of about that name.
func (m *model) free(name string) (string, error) {
	for n := 1; ; n++ {
		dir := filepath.Join(m.Copies, name)
		if n > 1 {
			dir = fmt.Sprintf("%s-%d", dir, n)
		}
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			return dir, nil
		} else if err != nil {
			return "", err
		}
	}
}

// goOnWith makes the copy in dir the one that the buttons are about.
func (m *model) goOnWith(dir string, before []string) error {
	stage, lab := "", ""
	if dir != "" {
		var err error
		if stage, lab, err = exercises.Of(m.Root, dir); err != nil {
			return err
		}
	}
	m.update(func() { m.dir, m.stage, m.lab, m.before = dir, stage, lab, before })
	return nil
}

// crash has all pods play a crash, as somebody's bug would.
func (m *model) crash(ctx context.Context, observer *observer) error {
	count, err := observer.simulate(ctx, "crashloop")
	m.line(fmt.Sprintf("pods that crash now, until you heal them: %d", count))
	return err
}

// heal undoes what break has done.
func (m *model) heal(ctx context.Context) error {
	m.mu.Lock()
	observer, before := m.observer, m.before
	m.mu.Unlock()
	var healed error
	if observer != nil {
		var count int
		if count, healed = observer.simulate(ctx, nil); count > 0 {
			m.line(fmt.Sprintf("pods that run again: %d", count))
		}
	}
	if len(before) == 0 {
		return healed
	}
	last := len(before) - 1
	m.line("back to " + cmp.Or(before[last], "the chapter's operator"))
	return errors.Join(healed, m.goOnWith(before[last], before[:last]))
}
