package learn

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/fsnotify/fsnotify"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/example/operator-testbed/e2e/framework/audit"
)

const (
	// mostWrites is how many requests are shown.
	mostWrites = 30
	// looksBack is how many bytes of the audit log are read when the cluster is first seen.
	looksBack = 1 << 20
)

// writes are the last requests of operators that change something.
type writes struct {
	changed func()

	mu   sync.Mutex
	last []Write // the newest first
}

// run reads the audit log at a path as it grows, until ctx ends. It returns an error if it can't.
func (w *writes) run(ctx context.Context, path string) error {
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer files.Close()
	// A watch of the directory sees a file that does not exist yet.
	if err := files.Add(filepath.Dir(path)); err != nil {
		return err
	}
	tail := audit.Open(path).Tail(looksBack)
	for {
		events, err := tail.Next(audit.Writes, byOperator)
		w.add(events)
		if err != nil {
			return err
		}
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return nil
			case event := <-files.Events:
				waiting = event.Name != path
			case <-files.Errors: //nolint:errcheck // whichever it is, an event was lost, so the log may have grown
				waiting = false
			}
		}
	}
}

func (w *writes) add(events []auditv1.Event) {
	if len(events) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range events {
		w.last = append(w.last, writeOf(&events[i]))
	}
	slices.SortStableFunc(w.last, func(a, b Write) int { return b.At.Compare(a.At) })
	w.last = w.last[:min(len(w.last), mostWrites)]
	w.changed()
}

func (w *writes) snapshot() []Write {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.last)
}

// byOperator passes requests of ServiceAccounts that are not the cluster's own, other than those that keep a leader's lease, which come
// every two seconds.
func byOperator(e *auditv1.Event) bool {
	account, isAccount := strings.CutPrefix(e.User.Username, "system:serviceaccount:")
	namespace, _, _ := strings.Cut(account, ":")
	return isAccount && !slices.Contains(ofTheCluster, namespace) && (e.ObjectRef == nil || e.ObjectRef.Resource != "leases")
}

func writeOf(e *auditv1.Event) Write {
	w := Write{At: e.RequestReceivedTimestamp.UTC(), Verb: e.Verb, Object: short(e.RequestURI)}
	if e.ObjectRef != nil {
		w.Object, w.Subresource = short(strings.TrimSuffix(e.ObjectRef.Resource+"/"+e.ObjectRef.Name, "/")), e.ObjectRef.Subresource
	}
	if e.ResponseStatus != nil {
		w.Code = int(e.ResponseStatus.Code)
	}
	return w
}
