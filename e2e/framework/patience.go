package framework

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

// patience returns how long assertions wait in a feature that starts now, and how many turns: see [turns].
func (s *Suite) patience() (time.Duration, int) {
	if s.failing > 0 && s.failed.Load() {
		return min(s.timeout, s.failing), failingTurns
	}
	return s.timeout, turns
}

// Patient returns the scope with assertions that wait at least for timeout, even if $TESTBED_TIMEOUT is shorter.
func (s *Scope) Patient(timeout time.Duration) *Scope {
	patient := *s
	patient.timeout = max(s.timeout, timeout)
	return &patient
}

// Bounded returns a context that ends when an assertion that starts now would time out. It is for tests that wait by other means, which
// should report what they last saw, because the context's error does not.
func (s *Scope) Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	p := newPatience(ctx, s, "")
	p.begin()
	return p.over, p.stop
}

// patience is how long an assertion waits. It starts with the first answer: until then nothing was seen that an operator could be
// blamed for. It lasts longer on a slow cluster, which is found out when the time is up, but not where pods really run: the time that
// they take is what the timeout is about there.
type patience struct {
	client  client.WithWatch
	timeout time.Duration
	turns   int
	paced   bool
	subject string

	ctx    context.Context // the test's
	asking context.Context // of a request
	over   context.Context // ends when it is time to give up
	stop   func()
	begin  func()
	begun  time.Time

	mu   sync.Mutex
	last error // what was last seen to be wrong
}

func newPatience(ctx context.Context, s *Scope, subject string) *patience {
	p := &patience{client: s.Client, timeout: cmp.Or(s.timeout, Converge), turns: cmp.Or(s.turns, turns), paced: !s.Cluster.RunsPods, subject: subject, ctx: ctx}
	asking, cancel := context.WithTimeout(ctx, p.timeout+requestTimeout+slowest)
	over, giveUp := context.WithCancelCause(ctx)
	p.asking, p.over = asking, over
	p.begin = sync.OnceFunc(func() {
		p.begun = time.Now()
		go func() {
			p.run()
			giveUp(errors.New(p.why()))
		}()
	})
	p.stop = func() {
		cancel()
		giveUp(nil)
	}
	return p
}

// run returns when the time is up.
func (p *patience) run() {
	if expected := os.Getenv("TESTBED_EXPECTED"); expected != "" {
		p.spend(min(p.timeout, expectedFailure), expectedTurns)
		for part := range strings.SplitSeq(expected, "\n") {
			if strings.Contains(p.failure(), part) {
				return
			}
		}
	}
	p.spend(p.timeout, p.turns)
}

// spend waits until so long is over since the beginning, and on a slow cluster until it could have started so many pods.
func (p *patience) spend(d time.Duration, turns int) {
	p.wait(d)
	if p.paced && p.asking.Err() == nil {
		p.wait(min(time.Duration(turns)*p.pace(), slowest))
	}
}

// wait returns when d is over since the beginning.
func (p *patience) wait(d time.Duration) {
	select {
	case <-time.After(d - time.Since(p.begun)):
	case <-p.asking.Done():
	}
}

// done reports whether nothing is wrong any more, and notes what is. That does not replace what was seen before by an answer that was
// cut off.
func (p *patience) done(err error) bool {
	p.mu.Lock()
	if p.last == nil || p.asking.Err() == nil {
		p.last = err
	}
	p.mu.Unlock()
	p.begin()
	return err == nil
}

// failure is what the assertion says if it ends now.
func (p *patience) failure() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%s: %v (%s)", p.subject, p.last, p.why())
}

// why says why an assertion ended.
func (p *patience) why() string {
	if p.ctx.Err() != nil {
		return fmt.Sprintf("stopped: %v", context.Cause(p.ctx))
	}
	waited := time.Since(p.begun)
	if over := waited - p.timeout; over >= 0 && over <= time.Second {
		waited = p.timeout
	} else {
		waited = waited.Round(time.Second)
	}
	return fmt.Sprintf("gave up after %s", waited)
}

// patientClient makes requests that only asking ends: an assertion that gives up has the answer to its last one.
type patientClient struct {
	client.WithWatch
	asking context.Context
}

// List lists until asking ends.
func (c patientClient) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return c.WithWatch.List(c.asking, list, opts...)
}

// Watch watches until asking ends.
func (c patientClient) Watch(_ context.Context, list client.ObjectList, opts ...client.ListOption) (apiwatch.Interface, error) {
	return c.WithWatch.Watch(c.asking, list, opts...)
}

// pace returns how long a Deployment of one pod takes now, or zero where it does not start: a cluster that does not work at all is not
// waited for. All of a cluster has a part in that, as in what operators do, and all of it has the machine's load to bear.
func (p *patience) pace() time.Duration {
	ctx, cancel := context.WithTimeout(p.asking, slowest)
	defer cancel()
	deployment := watch.NewDeployment(metav1.NamespaceDefault, "pace-"+rand.String(8), 1)
	begun := time.Now()
	if err := p.client.Create(ctx, deployment); err != nil {
		return 0
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()
		_ = p.client.Delete(ctx, deployment, client.PropagationPolicy(metav1.DeletePropagationBackground))
	}()
	_, err := watch.Object(ctx, p.client, &appsv1.DeploymentList{}, client.ObjectKeyFromObject(deployment), func(d *appsv1.Deployment) bool {
		return d.Status.AvailableReplicas > 0
	})
	if err != nil {
		return 0
	}
	return time.Since(begun)
}
