package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
)

// taskFunc is a task that takes its arguments as JSON.
type taskFunc func(ctx context.Context, s *Server, args json.RawMessage) error

var registered sync.Map // name -> taskFunc

// RegisterTask makes a task known under a name: work that a supervisor does itself, in a goroutine, for as long as its group lives,
// such as watching something or forwarding connections. The task ends when ctx does.
//
// It calls s.Started once it is ready for use; until then [Supervisor.RunTask] waits. An error that it returns before is
// RunTask's; one that it returns later is in the supervisor's log.
//
// Call RegisterTask in an init function: the task has to be known in the supervising child too, before Main is called there.
func RegisterTask[Args any](name string, task func(ctx context.Context, s *Server, args Args) error) {
	decode := func(ctx context.Context, s *Server, raw json.RawMessage) error {
		var args Args
		if err := json.Unmarshal(raw, &args); err != nil {
			return fmt.Errorf("decode the arguments of the task %s: %w", name, err)
		}
		return task(ctx, s, args)
	}
	if _, taken := registered.LoadOrStore(name, taskFunc(decode)); taken {
		panic("supervisor: two tasks are called " + name)
	}
}

// Server is the supervisor as one of its tasks sees it.
type Server struct {
	host    *host
	task    string
	started func(json.RawMessage)
}

// Dir is the directory of the group.
func (s *Server) Dir() string { return s.host.dir }

// Logf writes a line to the supervisor's log.
func (s *Server) Logf(format string, args ...any) {
	s.host.logf("%s: %s", s.task, fmt.Sprintf(format, args...))
}

// Started says that the task is ready for use, and gives RunTask its result.
// Calls after the first one have no effect.
func (s *Server) Started(result any) error {
	data, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encode the result of the task %s: %w", s.task, err)
	}
	s.started(data)
	return nil
}

// Status lists the processes of the group in the order of their first start.
func (s *Server) Status() []ProcessStatus { return s.host.status() }

// Restart stops a process and starts it again.
func (s *Server) Restart(ctx context.Context, name string) error {
	c, err := s.host.find(name)
	if err != nil {
		return err
	}
	return c.restart(ctx)
}

// task is one running task.
type task struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// outcome is what RunTask returns.
type outcome struct {
	result json.RawMessage
	err    error
}

// runTask starts the task and returns its result once it says it has started.
func (h *host) runTask(ctx context.Context, name, fn string, args json.RawMessage) (json.RawMessage, error) {
	found, ok := registered.Load(fn)
	if !ok {
		return nil, fmt.Errorf("unknown task %q: the program that started it does not import the package that registers it", fn)
	}
	if h.closing.Load() {
		return nil, errClosing
	}
	h.mu.Lock()
	if h.tasks[name] != nil {
		h.mu.Unlock()
		return nil, fmt.Errorf("a task called %s is running", name)
	}
	life, cancel := context.WithCancel(h.life)
	t := &task{cancel: cancel, ended: make(chan struct{})}
	h.tasks[name] = t
	h.mu.Unlock()

	// What comes first counts: that the task has started, or that it has ended.
	began := make(chan outcome, 1)
	first := func(o outcome) {
		select {
		case began <- o:
		default:
		}
	}
	server := &Server{host: h, task: name, started: func(result json.RawMessage) { first(outcome{result: result}) }}
	go func() {
		defer close(t.ended)
		defer cancel()
		err := protect(func() error { return found.(taskFunc)(life, server, args) })
		h.mu.Lock()
		delete(h.tasks, name)
		h.mu.Unlock()
		if err != nil && life.Err() == nil {
			server.Logf("%v", err)
		}
		first(outcome{err: err})
	}()
	select {
	case o := <-began:
		return o.result, o.err
	case <-ctx.Done():
		cancel()
		return nil, fmt.Errorf("wait for the start of the task %s: %w", name, context.Cause(ctx))
	}
}

// stopTask ends a task and returns when it has ended. There being none is fine.
func (h *host) stopTask(ctx context.Context, name string) error {
	h.mu.Lock()
	t := h.tasks[name]
	h.mu.Unlock()
	if t == nil {
		return nil
	}
	t.cancel()
	select {
	case <-t.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of the task %s: %w", name, context.Cause(ctx))
	}
}

func (h *host) taskNames() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.tasks))
}

// tasksEnded waits for the tasks, which have been asked to end: what they do last is part of what they are for.
func (h *host) tasksEnded(ctx context.Context) (err error) {
	for _, name := range h.taskNames() {
		err = errors.Join(err, h.stopTask(ctx, name))
	}
	return err
}

// protect turns a panic into an error: a task that breaks must not take the
// group with it.
func protect(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return fn()
}
