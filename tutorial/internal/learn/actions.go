package learn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
)

// The actions. There are no others.
const (
	ActionStart  = "start"  // bring the cluster up
	ActionStop   = "stop"   // take it down
	ActionRun    = "run"    // run the operator
	ActionHalt   = "halt"   // stop it
	ActionCheck  = "check"  // check the copy
	ActionHint   = "hint"   // give a hint
	ActionReset  = "reset"  // start over with the copy
	ActionBreak  = "break"  // have the pods crash or, with a lab, make a copy with a fault in it
	ActionHeal   = "heal"   // undo that
	ActionCancel = "cancel" // stop what takes too long
)

var actionNames = []string{
	ActionStart, ActionStop, ActionRun, ActionHalt, ActionCheck, ActionHint, ActionReset, ActionBreak, ActionHeal, ActionCancel,
}

// refusal is why an action was not begun, with a status of HTTP.
type refusal struct {
	status   int
	sentence string
}

func (r *refusal) Error() string { return r.sentence }

func wrong(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

func notNow(format string, args ...any) error {
	return &refusal{http.StatusConflict, fmt.Sprintf(format, args...)}
}

// request is what a button asks for. Empty fields were not sent.
type request struct {
	action       string
	chapter, lab string
	exercise     int
	confirmed    bool
}

// read returns the request of a form. Everything in it has to be one of the names that the page was sent.
func (m *model) read(action string, form url.Values) (request, error) {
	r := request{action: action}
	if !slices.Contains(actionNames, action) {
		return r, wrong("%q is not an action: use one of %s", action, strings.Join(actionNames, ", "))
	}
	for field, values := range form {
		if len(values) != 1 {
			return r, wrong("the field %s was sent %d times: send it once", field, len(values))
		}
		value := values[0]
		var err error
		switch field {
		case "chapter":
			r.chapter = value
			if _, known := m.chapterOf(value); !known {
				err = wrong("%q is not a chapter", value)
			}
		case "lab":
			r.lab = value
			if !slices.ContainsFunc(m.labs(), func(l Lab) bool { return l.Name == value }) {
				err = wrong("%q is not a lab", value)
			}
		case "exercise":
			if r.exercise, err = strconv.Atoi(value); err != nil || r.exercise < 1 || r.exercise > 99 {
				err = wrong("%q is not the number of an exercise", value)
			}
		case "confirm":
			r.confirmed = value == "yes"
		default:
			err = wrong("the field %q is unknown", field)
		}
		if err != nil {
			return r, err
		}
	}
	if (action == ActionReset || action == ActionBreak) && !r.confirmed {
		return r, wrong("%s needs the field confirm=yes, because it changes what is there", action)
	}
	return r, nil
}

// actions returns which actions are possible now. The lock is held.
func (m *model) actions() []Action {
	up, own := m.cluster.State == Running, m.ClusterKind == embedded.Kind
	busy := ""
	if m.cancel != nil {
		busy = fmt.Sprintf("wait until %s is done, or cancel it", m.task.Action)
	}
	noCluster := ""
	if !up {
		noCluster = "there is no cluster: start it first"
	}
	noCopy := ""
	if m.dir == "" {
		noCopy = fmt.Sprintf("there is no copy of yours: stop make learn, and type make learn STAGE=%s DIR=my-operator", m.Chapter)
	}
	why := map[string][]string{
		ActionStart:  {when(m.cluster.State != Absent, "the cluster is there already"), busy},
		ActionStop:   {noCluster, busy},
		ActionRun:    {when(!own, "on a kind cluster the operator runs as an image: type make docker-build docker-push deploy CLUSTER=kind"), noCluster, when(m.halt != nil, "the operator runs already")},
		ActionHalt:   {when(m.halt == nil, "no operator was started here")},
		ActionCheck:  {noCopy, busy},
		ActionHint:   {busy},
		ActionReset:  {noCopy, busy},
		ActionBreak:  {busy},
		ActionHeal:   {when(len(m.before) == 0 && !m.crashing(), "nothing is broken"), busy},
		ActionCancel: {when(m.cancel == nil, "there is nothing to cancel")},
	}
	all := []Action{}
	for _, name := range actionNames {
		reasons := slices.DeleteFunc(why[name], func(reason string) bool { return reason == "" })
		a := Action{Name: name, Enabled: len(reasons) == 0}
		if !a.Enabled {
			a.Why = reasons[0]
		}
		if m.dir != "" && (name == ActionCheck || name == ActionReset) {
			a.Chapter = m.stage
		}
		all = append(all, a)
	}
	return all
}

func when(is bool, reason string) string {
	if is {
		return reason
	}
	return ""
}

// crashing reports whether pods play a crash.
func (m *model) crashing() bool {
	if m.observer == nil {
		return false
	}
	_, failing := m.observer.pods()
	return failing > 0
}

// do begins what a request asks for, or returns a [*refusal].
func (m *model) do(r request) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.changed()
	if err := m.life.Err(); err != nil {
		return notNow("make learn is stopping")
	}
	all := m.actions()
	if a := all[slices.IndexFunc(all, func(a Action) bool { return a.Name == r.action })]; !a.Enabled {
		return notNow("%s", a.Why)
	}
	switch r.action {
	case ActionCancel:
		m.task.Line = "stopping"
		m.cancel(errCanceled)
		return nil
	case ActionHalt:
		m.halt(errHalted)
		return nil
	case ActionRun:
		return m.run(r)
	default:
		return m.begin(r)
	}
}

var (
	errCanceled = errors.New("canceled")
	errHalted   = errors.New("halted")
)

// chosen returns the chapter that a request is about.
func (m *model) chosen(r request) chapter.Chapter {
	name := m.Chapter
	switch {
	case r.chapter != "":
		name = r.chapter
	case m.stage != "":
		name = m.stage
	}
	c, _ := m.chapterOf(name)
	return c
}

// hasCopy reports whether there is a copy for the chapter that a request is about.
func (m *model) hasCopy(r request) bool {
	return m.dir != "" && (r.chapter == "" || r.chapter == m.stage)
}

// begin begins a task. The lock is held.
func (m *model) begin(r request) error {
	task, err := m.taskOf(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(m.life)
	features, passed, of := m.task.Features, m.task.Passed, m.task.Of
	m.cancel, m.task = cancel, Task{Action: r.action, Running: true}
	if r.action == ActionStart {
		m.cluster = Cluster{State: Starting, Kind: m.ClusterKind}
	}
	if slices.Contains([]string{ActionHint, ActionStart, ActionStop}, r.action) { // what was checked is as true as before
		m.task.Features, m.task.Passed, m.task.Of = features, passed, of
	}
	m.working.Go(func() {
		err := task(ctx)
		m.update(func() {
			m.cancel, m.task.Running = nil, false
			switch {
			case context.Cause(ctx) != nil:
				m.task.Line, m.task.Error = "", r.action+" was canceled"
			case err != nil:
				m.task.Line, m.task.Error = "", short(err.Error())
			}
			for i, f := range m.task.Features {
				if f.Outcome == Waiting || f.Outcome == Running {
					m.task.Features[i].Outcome = Skipped
				}
			}
		})
		cancel(nil)
	})
	return nil
}

// line shows what a task does now.
func (m *model) line(text string) {
	if text = strings.TrimSpace(text); text != "" {
		m.update(func() { m.task.Line = short(text) })
	}
}
