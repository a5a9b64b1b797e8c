package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// host is the supervising child: it owns the processes and the directory.
type host struct {
	dir     string
	born    string // when this process was started
	log     *log.Logger
	spawner spawner

	life context.Context // of the tasks
	end  context.CancelFunc

	closing  atomic.Bool // no process is started any more
	detached atomic.Bool

	mu       sync.Mutex
	children []*child // in the order of their first start
	tasks    map[string]*task

	writing sync.Mutex     // of state.json
	running map[int]record // by process id; what state.json says
}

func newHost(dir string, logger *log.Logger) *host {
	life, end := context.WithCancel(context.Background())
	return &host{dir: dir, log: logger, spawner: newSpawner(), life: life, end: end, tasks: map[string]*task{}, running: map[int]record{}}
}

func logPath(dir, name string) string { return filepath.Join(dir, "logs", name+".log") }

func (h *host) logf(format string, args ...any) { h.log.Printf(format, args...) }

// run takes a process into the group and starts it.
func (h *host) run(spec Process) error {
	if err := spec.validate(); err != nil {
		return err
	}
	c := &child{host: h, spec: spec, state: Stopped}
	h.mu.Lock()
	at := slices.IndexFunc(h.children, func(c *child) bool { return c.spec.Name == spec.Name })
	if at >= 0 {
		if old := h.children[at].status(); old.State != Exited && old.State != Stopped {
			h.mu.Unlock()
			return fmt.Errorf("a process called %s is there already: its state is %s", spec.Name, old.State)
		}
		h.children = slices.Delete(h.children, at, at+1)
	}
	// Start it before anybody can find it: every child has had a run.
	err := c.start()
	if err == nil {
		h.children = append(h.children, c)
	}
	h.mu.Unlock()
	return err
}

// remove ends a process at once and forgets it and its log.
func (h *host) remove(ctx context.Context, c *child) error {
	if err := c.stop(ctx, 0); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.children = slices.DeleteFunc(h.children, func(other *child) bool { return other == c })
	return os.Remove(logPath(h.dir, c.spec.Name))
}

func (h *host) find(name string) (*child, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.children {
		if c.spec.Name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("there is no process called %q", name)
}

func (h *host) all() []*child {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.children)
}

func (h *host) status() []ProcessStatus {
	var list []ProcessStatus
	for _, c := range h.all() {
		list = append(list, c.status())
	}
	return list
}

// close ends everything and removes the directory. While graceful isn't done, the
// processes that ask for time to end get it, and the others still serve them.
func (h *host) close(graceful context.Context) error {
	h.closing.Store(true)
	children := h.all()
	if graceful.Err() == nil {
		_ = each(children, func(c *child) error { // who is not done in time is killed below
			if c.spec.Grace == 0 {
				return nil
			}
			return c.stop(graceful, c.spec.Grace)
		})
	}
	h.end()
	// A process in an uninterruptible system call survives even a SIGKILL for
	// a while; it must not keep us.
	ctx, cancel := context.WithTimeout(context.Background(), killLimit)
	defer cancel()
	err := errors.Join(each(children, func(c *child) error { return c.stop(ctx, 0) }), h.tasksEnded(ctx))
	return errors.Join(err, remove(h.dir))
}

// each does something with all children at once.
func each(children []*child, do func(*child) error) error {
	var group errgroup.Group
	for _, c := range children {
		group.Go(func() error { return do(c) })
	}
	return group.Wait()
}

// remember writes down that a process runs, for the case that we are killed.
func (h *host) remember(r record) {
	h.write(func() { h.running[r.PID] = r })
}

// forget writes down that it no longer does.
func (h *host) forget(r record) {
	h.write(func() { delete(h.running, r.PID) })
}

func (h *host) write(change func()) {
	h.writing.Lock()
	defer h.writing.Unlock()
	change()
	s := state{PID: os.Getpid(), Processes: slices.Collect(maps.Values(h.running))}
	if err := s.write(h.dir); err != nil && !h.closing.Load() {
		h.logf("write down what runs: %v", err)
	}
}
