package supervisor_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

func init() {
	supervisor.RegisterTask("mark", mark)
	supervisor.RegisterTask("fail", func(context.Context, *supervisor.Server, any) error {
		return errors.New("no luck")
	})
	supervisor.RegisterTask("panic", func(context.Context, *supervisor.Server, any) error {
		panic("at the disco")
	})
	supervisor.RegisterTask("restart", func(ctx context.Context, s *supervisor.Server, name string) error {
		if err := s.Restart(ctx, name); err != nil {
			return err
		}
		return s.Started(s.Status())
	})
}

// mark makes the file that its argument names, for as long as it lives.
func mark(ctx context.Context, s *supervisor.Server, path string) error {
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	if err := s.Started(os.Getpid()); err != nil {
		return err
	}
	<-ctx.Done()
	return os.Remove(path)
}

func TestTask(t *testing.T) {
	s := start(t)
	path := filepath.Join(t.TempDir(), "mark")
	var pid int
	if err := s.RunTask(t.Context(), "mine", "mark", path, &pid); err != nil {
		t.Fatal(err)
	}
	if pid != s.PID() {
		t.Errorf("expected the task to run in the supervisor %d, got %d", s.PID(), pid)
	}
	if tasks, err := s.Tasks(t.Context()); err != nil || !slices.Equal(tasks, []string{"mine"}) {
		t.Errorf("expected one task, got %q, %v", tasks, err)
	}
	if !exists(t, path) {
		t.Error("expected RunTask to return when the task has started")
	}
	if err := s.RunTask(t.Context(), "mine", "mark", path, nil); err == nil {
		t.Error("expected a second task of that name to be refused, got no error")
	}
	other := path + "2"
	if err := s.RunTask(t.Context(), "another", "mark", other, nil); err != nil {
		t.Errorf("expected the same function to run under another name, got %v", err)
	}
	if err := s.StopTask(t.Context(), "mine"); err != nil {
		t.Fatal(err)
	}
	if exists(t, path) {
		t.Error("expected StopTask to return when the task has ended")
	}
	if err := s.StopTask(t.Context(), "mine"); err != nil {
		t.Errorf("expected nothing to stop to be fine, got %v", err)
	}
	if err := s.RunTask(t.Context(), "mine", "mark", path, nil); err != nil {
		t.Errorf("expected the name to be free again, got %v", err)
	}
}

func TestTaskThatFails(t *testing.T) {
	s := start(t)
	if err := s.RunTask(t.Context(), "t", "fail", nil, nil); err == nil || err.Error() != "no luck" {
		t.Errorf("expected the task's own error, got %v", err)
	}
	if err := s.RunTask(t.Context(), "t", "panic", nil, nil); err == nil || !strings.Contains(err.Error(), "at the disco") {
		t.Errorf("expected the panic as an error, got %v", err)
	}
	run(t, s, sleeper("alive")) // the supervisor survived it
}

func TestTaskRestartsAProcess(t *testing.T) {
	s := start(t)
	run(t, s, sleeper("worker"))
	var seen []supervisor.ProcessStatus
	if err := s.RunTask(t.Context(), "t", "restart", "worker", &seen); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 1 || seen[0].Restarts != 1 {
		t.Errorf("expected one restart, got %+v", seen)
	}
}
