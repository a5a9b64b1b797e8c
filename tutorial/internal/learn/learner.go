package learn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
	"github.com/example/operator-testbed/tutorial/internal/progress"
)

// Learner says whose page it is, and how the things are done that its buttons stand for.
type Learner struct {
	// Root is the repository.
	Root string
	// Chapter is where the learner begins, and Dir the copy; empty if there is none.
	Chapter, Dir string
	// Copies is the directory for the copies that break makes.
	Copies string
	// ClusterKind is one of [Kinds], and ClusterName the name of the learner's cluster.
	ClusterKind, ClusterName string
	// Testbed runs the testbed's command line with arguments, and writes what that prints, until it exits or ctx ends.
	Testbed func(ctx context.Context, out, messages io.Writer, args ...string) error
	// Check checks a copy, and records it. Hint gives a hint about the copy or, without one, the chapter; Reset starts over with a copy.
	Check func(ctx context.Context, in exercises.CheckInput) ([]framework.Result, error)
	Hint  func(dir, chapter string, exercise int, out io.Writer) error
	Reset func(ctx context.Context, dir string, out io.Writer) error
	// Progress returns how far the learner is, and ProgressDir the directory whose files change when that does.
	Progress    func() (progress.Progress, error)
	ProgressDir string
}

// model is what a server knows and does.
type model struct {
	Learner
	chapters []chapter.Chapter
	faults   []exercises.Fault
	find     finder
	pause    time.Duration
	observe  func(*up, func()) (*observer, error)
	news     chan struct{} // has a value when something has changed
	life     context.Context

	mu       sync.Mutex
	dir      string   // the copy; that of a lab after break
	stage    string   // the chapter that the copy is for
	lab      string   // and the lab
	before   []string // copies to go back to
	cluster  Cluster
	observer *observer
	writes   *writes
	operator Operator
	halt     context.CancelCauseFunc // stops the operator; nil if none runs
	task     Task
	cancel   context.CancelCauseFunc // cancels the task; nil if none runs
	progress []Progress
	working  sync.WaitGroup
}

// newModel returns the model of a learner. What it starts ends with ctx.
func newModel(ctx context.Context, l Learner) (*model, error) {
	chapters, err := chapter.ReadAll(filepath.Join(l.Root, "tutorial"))
	if err != nil {
		return nil, err
	}
	faults, err := exercises.Faults(l.Root)
	if err != nil {
		return nil, err
	}
	m := &model{Learner: l, chapters: chapters, faults: faults, news: make(chan struct{}, 1), life: ctx, dir: l.Dir}
	m.find, m.pause = finderOf(l.ClusterKind, l.ClusterName)
	m.observe = func(u *up, changed func()) (*observer, error) { return newObserver(u.config, changed) }
	m.cluster = Cluster{State: Absent, Kind: l.ClusterKind}
	m.operator = Operator{State: Stopped}
	if m.dir != "" {
		if m.stage, m.lab, err = exercises.Of(l.Root, m.dir); err != nil {
			return nil, err
		}
		m.Chapter = cmp.Or(m.Chapter, m.stage)
	}
	if err := m.readProgress(); err != nil {
		return nil, err
	}
	if m.Chapter == "" {
		m.Chapter = m.next()
	}
	if _, known := m.chapterOf(m.Chapter); !known {
		if err := chapter.RenamedError(l.Root, m.Chapter); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("there is no STAGE=%s: use the name of a directory in tutorial/, such as %s", m.Chapter, chapters[0].Name)
	}
	return m, nil
}

// chapterOf returns the chapter of that name, and reports whether there is one.
func (m *model) chapterOf(name string) (chapter.Chapter, bool) {
	i := slices.IndexFunc(m.chapters, func(c chapter.Chapter) bool { return c.Name == name })
	if i < 0 {
		return chapter.Chapter{}, false
	}
	return m.chapters[i], true
}

// changed has the state sent.
func (m *model) changed() {
	select {
	case m.news <- struct{}{}:
	default: // it will be
	}
}

// update changes what is known.
func (m *model) update(change func()) {
	m.mu.Lock()
	change()
	m.mu.Unlock()
	m.changed()
}

// state returns everything that the page shows.
func (m *model) state() State {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := State{
		Chapter: m.Chapter, Dir: m.dir, Cluster: m.cluster, Operator: m.operator, Task: m.task,
		Objects: []Object{}, Events: []Event{}, Writes: []Write{}, Actions: m.actions(), Progress: slices.Clone(m.progress), Labs: m.labs(),
	}
	s.Operator.Log = append([]string{}, m.operator.Log...)
	s.Task.Features = append([]Feature{}, m.task.Features...)
	if m.observer != nil {
		var problem string
		s.Objects, s.More, s.Events, problem = m.observer.snapshot()
		s.Cluster.Message = cmp.Or(s.Cluster.Message, problem)
	}
	if m.writes != nil {
		s.Writes = append([]Write{}, m.writes.snapshot()...)
	}
	return s
}

// labs returns what can be broken. Only simulated pods can play a crash.
func (m *model) labs() []Lab {
	labs := []Lab{}
	if m.ClusterKind == embedded.Kind {
		labs = append(labs, Lab{Name: CrashingPods, Title: "Every pod that is there now crashes, as if memcached had a bug."})
	}
	for _, fault := range m.faults {
		labs = append(labs, Lab{Name: fault.Name, Title: fault.Symptom, Chapter: fault.Chapter})
	}
	return labs
}

// atMost is the shortest time between two states that are sent: nobody sees more than ten in a second.
const atMost = 100 * time.Millisecond

// publish sends the state each time something has changed, but not too often, until ctx ends.
func (m *model) publish(ctx context.Context, send func([]byte)) error {
	for {
		text, err := json.Marshal(m.state())
		if err != nil {
			return err
		}
		send(text)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(atMost):
		}
		select {
		case <-ctx.Done():
			return nil
		case <-m.news:
		}
	}
}

// follow keeps the state of the cluster, and what is in it, until ctx ends.
func (m *model) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		found, err := m.find(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // that the page is closed is not a fault
		case found != nil:
			m.watch(ctx, found)
			continue
		case err == nil:
			m.clusterIs(Absent, "there is no cluster: start it, or type "+m.makeUp()+" in a terminal")
		case errors.Is(err, errStarting):
			m.clusterIs(Starting, "somebody brings it up")
		default:
			m.clusterIs(Absent, short(err.Error()))
		}
		select {
		case <-ctx.Done():
		case <-time.After(m.pause):
		}
	}
	return nil
}

// makeUp returns the command that brings the cluster up.
func (m *model) makeUp() string {
	command := "make up"
	if m.ClusterKind != embedded.Kind {
		command += " CLUSTER=" + m.ClusterKind
	}
	if m.ClusterName != embedded.DefaultName {
		command += " NAME=" + m.ClusterName
	}
	return command
}

// clusterIs notes the state of a cluster that is not up. A task that starts or stops it knows better.
func (m *model) clusterIs(state, message string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.cancel != nil && m.task.Action == ActionStart:
		state, message = Starting, ""
	case m.cancel != nil && m.task.Action == ActionStop:
		state, message = Stopping, ""
	}
	if now := (Cluster{State: state, Kind: m.ClusterKind, Message: message}); m.cluster != now {
		m.cluster = now
		m.changed()
	}
}

// watch shows what is in a cluster, until it is taken down.
func (m *model) watch(ctx context.Context, found *up) {
	ctx, stop := context.WithCancel(ctx)
	observer, err := m.observe(found, m.changed)
	if err != nil {
		stop()
		m.clusterIs(Absent, short(err.Error()))
		return
	}
	written := &writes{changed: m.changed}
	var done sync.WaitGroup
	done.Go(func() { observer.run(ctx) })
	if found.auditLog != "" {
		done.Go(func() {
			if err := written.run(ctx, found.auditLog); err != nil {
				m.update(func() { m.cluster.Message = short(err.Error()) })
			}
		})
	}
	m.update(func() {
		m.cluster, m.observer, m.writes = Cluster{State: Running, Kind: m.ClusterKind}, observer, written
	})
	found.closing(ctx)
	m.update(func() {
		m.cluster, m.observer, m.writes = Cluster{State: Stopping, Kind: m.ClusterKind}, nil, nil
	})
	stop()
	done.Wait()
}

// wait returns when everything has ended that the buttons have started.
func (m *model) wait() { m.working.Wait() }
