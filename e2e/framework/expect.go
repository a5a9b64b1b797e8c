package framework

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

// The named timeouts. Success takes as long as the cluster does, so they are generous: a loaded two-core
// machine must not fail a healthy operator.
const (
	// Converge bounds the wait for an operator, the scheduler and the kubelets to settle.
	Converge = 60 * time.Second
	// Slow bounds what waits for a real kubelet's own timers, such as an image pull's back-off.
	Slow = 5 * time.Minute
)

// T is what assertions need of *testing.T. Fatalf must not return.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Expecter asserts on one cluster on behalf of one test.
type Expecter struct {
	t       T
	client  client.WithWatch
	timeout time.Duration
	paced   bool
	// expected is what an assertion is to fail with; empty where none is.
	expected string
}

// NewExpecter returns an Expecter that gives up after Converge. The client's scheme must know the types it is asked about.
func NewExpecter(t T, c client.WithWatch) *Expecter {
	return &Expecter{t: t, client: c, timeout: Converge}
}

// Within returns a copy of the Expecter with another timeout.
func (e *Expecter) Within(timeout time.Duration) *Expecter {
	within := *e
	within.timeout = timeout
	return &within
}

// Patient returns a copy of the Expecter that does not give up before timeout, however little time it was told to take.
func (e *Expecter) Patient(timeout time.Duration) *Expecter { return e.Within(max(e.timeout, timeout)) }

// acceptFunc returns what is still wrong with the objects, or nil when nothing is. It is called in the order in which
// the API server changed the objects, once for every change.
type acceptFunc func(objects []client.Object) error

// settle waits until accept returns nil for the listed objects, and fails the test with accept's last error
// otherwise. The subject begins the message.
func (e *Expecter) settle(ctx context.Context, subject string, list client.ObjectList, opts []client.ListOption, accept acceptFunc) {
	e.t.Helper()
	p, stop := e.patience(ctx, subject)
	defer stop()
	for state, err := range watch.Follow(p.over, patientClient{e.client, p.asking}, list, opts...) {
		if err == nil {
			err = accept(state.Objects())
		}
		if err == nil {
			return
		}
		p.saw(err)
	}
	e.t.Fatalf("%s", p.failure())
}

// subject names an object the way kubectl users do: "Deployment ns/name".
func subject(gvk schema.GroupVersionKind, key client.ObjectKey) string {
	if key.Namespace == "" {
		return gvk.Kind + " " + key.Name
	}
	return gvk.Kind + " " + key.String()
}

// kindOf returns the kind of obj, or fails the test when the client's scheme does not know it.
func (e *Expecter) kindOf(obj client.Object) schema.GroupVersionKind {
	e.t.Helper()
	gvk, err := apiutil.GVKForObject(obj, e.client.Scheme())
	if err != nil {
		e.t.Fatalf("asserting on a %T: %v; add its types to the suite's scheme", obj, err)
	}
	return gvk
}
