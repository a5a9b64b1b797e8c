package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options say how to start a supervisor.
type Options struct {
	// Dir is the directory of the group. It is made by Start, and removed with
	// everything in it at the end. What a killed supervisor left there is
	// cleaned first.
	Dir string
}

// Supervisor is a handle on a running supervisor. Its methods can be called from several goroutines.
type Supervisor struct {
	dir  string
	self record // the supervisor's process
	http *http.Client

	// Of the one who started it:
	lifeline io.Closer       // closing it ends an attached supervisor
	exited   <-chan struct{} // closed when the child process is gone
	letGo    sync.Once
}

// patience is how long a supervising child may take to say that it is one, and
// a supervisor to say who it is. Both take milliseconds; it only bounds the
// wait for one that hangs.
const patience = 10 * time.Minute

// Start starts a supervisor that is attached to the calling process: when that exits or is killed, everything the supervisor runs is
// killed and its directory removed. ctx bounds the start only. After an error nothing is left.
//
// The error is [ErrRunning] if a supervisor runs in the directory already.
func Start(ctx context.Context, options Options) (*Supervisor, error) {
	if _, child := os.LookupEnv(marker); child {
		return nil, errors.New("this process was started to be a supervisor, but its main function did not call supervisor.Main() first")
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return nil, err
	}
	lock, err := claim(dir)
	if err != nil {
		return nil, fmt.Errorf("start a supervisor in %s: %w", dir, err)
	}
	// The child holds the lock through a descriptor of its own.
	defer lock.Close()
	s, err := start(ctx, dir, lock)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a supervisor in %s: %w", dir, err), remove(dir))
	}
	return s, nil
}

// claim returns the lock of an empty directory dir.
func claim(dir string) (*os.File, error) {
	for {
		lock, err := acquire(dir)
		if err != nil {
			return nil, err
		}
		entries, err := os.ReadDir(dir)
		if err == nil && len(entries) == 1 { // the lock
			return lock, nil
		}
		// It is a dead supervisor's: clean it, and take a new one.
		if err := errors.Join(err, cleanLocked(dir), lock.Close()); err != nil {
			return nil, err
		}
	}
}

// start executes this program again, as the supervisor of dir.
func start(ctx context.Context, dir string, lock *os.File) (*Supervisor, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(dir, "logs"), 0o700); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(logPath(dir, "supervisor"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	handshake, childsHandshake, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer handshake.Close()

	cmd := exec.Command(self)
	// A program that forgot to call Main refuses a flag that it doesn't know,
	// rather than doing its usual work again. The flag also shows in
	// ps(1) what this process is.
	cmd.Args = []string{self, "--supervise=" + dir}
	cmd.Env = append(os.Environ(), marker+"="+dir)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{childsHandshake, lock}
	// A session of its own: the terminal's Ctrl-C goes to the parent alone,
	// who decides what it means.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	lifeline, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	_ = childsHandshake.Close() // or we would wait for ourselves
	if err != nil {
		return nil, err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it closes the lifeline, and until then it keeps the garbage collector from doing so
		close(exited)
	}()
	if err := await(ctx, handshake); err != nil {
		_ = cmd.Process.Kill()
		<-exited
		return nil, err
	}
	s := connect(dir)
	s.self, s.lifeline, s.exited = record{PID: cmd.Process.Pid}, lifeline, exited
	return s, nil
}

// await reads what a supervising child has to say.
func await(ctx context.Context, handshake *os.File) error {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stop := context.AfterFunc(bounded, func() { _ = handshake.SetReadDeadline(time.Now()) })
	defer stop()
	said, err := io.ReadAll(handshake)
	switch {
	case string(said) == started:
		return nil
	case len(said) > 0:
		return errors.New(string(said))
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return errors.Join(errors.New("the program, executed again, did not become a supervisor: call supervisor.Main() first thing in its main function or TestMain"), err)
	}
}

// Attach returns a handle on the supervisor that runs in dir. The error is [ErrNotRunning] if none does; what a killed one has left
// there is cleaned up. If the supervisor is exiting, Attach may succeed, and the next call returns [ErrUnreachable].
func Attach(dir string) (*Supervisor, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	switch err := Clean(dir); {
	case err == nil:
		return nil, fmt.Errorf("%s: %w", dir, ErrNotRunning)
	case !errors.Is(err, ErrRunning):
		return nil, err
	}
	s := connect(dir)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	info, err := s.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("attach to the supervisor in %s: %w", dir, err)
	}
	s.self = record{PID: info.PID, Birth: info.Birth}
	return s, nil
}

// Dir returns the directory of the group, as an absolute path.
func (s *Supervisor) Dir() string { return s.dir }

// PID returns the process id of the supervisor.
func (s *Supervisor) PID() int { return s.self.PID }

// LogFile returns the path of the log of a process, or, for the name "supervisor", of the supervisor's own.
func (s *Supervisor) LogFile(name string) string { return logPath(s.dir, name) }

// Info returns the supervisor's description of itself.
func (s *Supervisor) Info(ctx context.Context) (Info, error) {
	return call[Info](ctx, s, "info", struct{}{})
}

// Detach lets the supervisor outlive the calling process. It holds nothing of this process: no terminal, no standard stream, no file.
func (s *Supervisor) Detach(ctx context.Context) error {
	if _, err := call[struct{}](ctx, s, "detach", struct{}{}); err != nil {
		return err
	}
	s.release()
	return nil
}

// Run adds a process to the group and starts it. It replaces a process of that name that has exited. The error says why it can't be
// executed; a process that exits right after its start is not an error.
func (s *Supervisor) Run(ctx context.Context, p Process) error {
	path, err := exec.LookPath(p.Path)
	if err == nil {
		p.Path, err = filepath.Abs(path)
	}
	if err == nil {
		p.Dir, err = filepath.Abs(p.Dir)
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", p.Name, err)
	}
	if p.Env == nil {
		p.Env = os.Environ()
	}
	_, err = call[struct{}](ctx, s, "run", p)
	return err
}

// Stop stops a process, with a SIGTERM first if it has a Grace, and waits until it has exited. It is not restarted.
func (s *Supervisor) Stop(ctx context.Context, name string) error { return s.act(ctx, "stop", name) }

// StartAgain starts a process that has exited. It does nothing to one that runs.
func (s *Supervisor) StartAgain(ctx context.Context, name string) error {
	return s.act(ctx, "start", name)
}

// Remove kills a process (SIGKILL), and removes it from the group, with its log.
func (s *Supervisor) Remove(ctx context.Context, name string) error {
	return s.act(ctx, "remove", name)
}

// Restart stops a process and starts it again.
func (s *Supervisor) Restart(ctx context.Context, name string) error {
	return s.act(ctx, "restart", name)
}

// Kill kills a process (SIGKILL) and waits until it has exited. It is started again if its Restart is set.
func (s *Supervisor) Kill(ctx context.Context, name string) error { return s.act(ctx, "kill", name) }

// Pause stops a process and its process group where they are (SIGSTOP).
func (s *Supervisor) Pause(ctx context.Context, name string) error { return s.act(ctx, "pause", name) }

// Resume continues a paused process and its process group (SIGCONT).
func (s *Supervisor) Resume(ctx context.Context, name string) error {
	return s.act(ctx, "resume", name)
}

// Wait waits until a process exits and returns how it did, or, if it doesn't run, how it last exited.
func (s *Supervisor) Wait(ctx context.Context, name string) (ExitStatus, error) {
	return call[ExitStatus](ctx, s, "wait", request{Name: name})
}

// Closing waits until the supervisor starts to shut the group down, or has been killed.
func (s *Supervisor) Closing(ctx context.Context) error {
	_, err := call[struct{}](ctx, s, "closing", struct{}{})
	if errors.Is(err, ErrUnreachable) {
		return nil
	}
	return err
}

// Status lists the processes in the order of their first start.
func (s *Supervisor) Status(ctx context.Context) ([]ProcessStatus, error) {
	return call[[]ProcessStatus](ctx, s, "status", struct{}{})
}

// Find returns the status of the process of that name, and reports whether there is one.
func (s *Supervisor) Find(ctx context.Context, name string) (p ProcessStatus, found bool, err error) {
	processes, err := s.Status(ctx)
	if i := slices.IndexFunc(processes, func(p ProcessStatus) bool { return p.Name == name }); i >= 0 {
		return processes[i], true, nil
	}
	return ProcessStatus{}, false, err
}

// RunTask starts the task that is registered as fn, under a name that is
// unique among the running tasks of the group. It returns when the task says
// that it has started, and decodes what it says with that into result, unless
// that is nil.
func (s *Supervisor) RunTask(ctx context.Context, name, fn string, args, result any) error {
	data, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf("encode the arguments of the task %s: %w", name, err)
	}
	out, err := call[json.RawMessage](ctx, s, "run-task", taskRequest{Name: name, Func: fn, Args: data})
	if err != nil || result == nil {
		return err
	}
	if err := json.Unmarshal(out, result); err != nil {
		return fmt.Errorf("decode the result of the task %s: %w", name, err)
	}
	return nil
}

// StopTask stops a task and waits until it has returned. It does nothing if no task of that name runs.
func (s *Supervisor) StopTask(ctx context.Context, name string) error {
	_, err := call[struct{}](ctx, s, "stop-task", taskRequest{Name: name})
	return err
}

// Tasks returns the names of the tasks that run, sorted.
func (s *Supervisor) Tasks(ctx context.Context) ([]string, error) {
	return call[[]string](ctx, s, "tasks", struct{}{})
}

// Shutdown stops all processes and the supervisor, and removes the directory. Processes that have a Grace are stopped first, while the
// others still serve them. It returns when everything is gone, also if the supervisor was killed before.
func (s *Supervisor) Shutdown(ctx context.Context) error {
	_, err := call[struct{}](ctx, s, "shutdown", struct{}{})
	// An attached supervisor that takes too long gets no more time.
	s.release()
	killed := errors.Is(err, ErrUnreachable)
	if killed {
		err = nil
	}
	if err := errors.Join(err, s.gone(ctx)); err != nil || !killed {
		return err
	}
	return Clean(s.dir)
}

// release closes the lifeline.
func (s *Supervisor) release() {
	s.letGo.Do(func() {
		if s.lifeline != nil {
			_ = s.lifeline.Close()
		}
	})
}

// gone waits for the end of the supervisor's process.
func (s *Supervisor) gone(ctx context.Context) error {
	var err error
	if s.exited == nil {
		err = s.self.ended(ctx)
	} else {
		select {
		case <-s.exited:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("wait for the end of the supervisor in %s: %w", s.dir, err)
	}
	return nil
}

func (s *Supervisor) act(ctx context.Context, method, name string) error {
	_, err := call[struct{}](ctx, s, method, request{Name: name})
	return err
}

// ErrUnreachable is the error of a call that the supervisor does not answer, because it is starting, exiting or was killed.
var ErrUnreachable = errors.New("the supervisor can't be reached")

func connect(dir string) *Supervisor {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return DialUnix(ctx, filepath.Join(dir, socketFile))
	}
	return &Supervisor{dir: dir, http: &http.Client{Transport: &http.Transport{DialContext: dial}}}
}

// call calls a method of the supervisor.
func call[Out any](ctx context.Context, s *Supervisor, method string, in any) (Out, error) {
	var out Out
	body, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	// The host is of no account: the dialer knows only one.
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://supervisor/"+method, bytes.NewReader(body))
	if err != nil {
		return out, err
	}
	unreachable := func(err error) error {
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", method, context.Cause(ctx))
		}
		return fmt.Errorf("%w in %s: %w", ErrUnreachable, s.dir, err)
	}
	response, err := s.http.Do(r)
	if err != nil {
		return out, unreachable(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, err := io.ReadAll(response.Body)
		return out, errors.Join(errors.New(strings.TrimSpace(string(text))), err)
	}
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil {
		return out, unreachable(fmt.Errorf("read the answer to %s: %w", method, err))
	}
	return out, nil
}
