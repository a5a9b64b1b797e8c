package framework

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

const (
	// unanswered is how long a request may take before it counts as one without an answer. It is a safety net, and does
	// not shrink with the time that an assertion is given: an answer that is cut off says nothing about the operator.
	unanswered = 2 * time.Minute
	// askAgain is the pause before what can't be watched is asked again.
	askAgain = 20 * time.Millisecond
	// turns is how many times in a row the cluster could have done the work of pace before an assertion gives up. On an
	// idle machine pace takes a third of a second.
	turns = 20
	// early and fewTurns are how long, and how many turns, an assertion waits that is about to fail as it was expected to:
	// see [Expecter.Expecting].
	early    = 2 * time.Second
	fewTurns = 6
	// slowest bounds how much longer an assertion waits on a slow machine.
	slowest = 3 * time.Minute
)

// patience is how long an assertion waits. It begins with the first answer: until then nothing was seen that an
// operator could be blamed for.
type patience struct {
	expecter *Expecter
	ctx      context.Context // the test's
	asking   context.Context // of a request
	over     context.Context // ends when it is time to give up
	begin    func()
	begun    time.Time
	subject  string

	mu   sync.Mutex
	last error // what was last seen to be wrong
}

func (e *Expecter) patience(ctx context.Context, subject string) (p *patience, stop func()) {
	longest := e.timeout + unanswered
	if e.paced {
		longest += slowest
	}
	asking, cancel := context.WithTimeout(ctx, longest)
	over, giveUp := context.WithCancelCause(ctx)
	p = &patience{expecter: e, ctx: ctx, asking: asking, over: over, subject: subject}
	p.begin = sync.OnceFunc(func() {
		p.begun = time.Now()
		go func() {
			p.run()
			giveUp(errors.New(p.why()))
		}()
	})
	return p, func() {
		cancel()
		giveUp(nil)
	}
}

// run returns when the time is up.
func (p *patience) run() {
	e := p.expecter
	if e.expected != "" {
		p.spend(min(e.timeout, early), fewTurns)
		if strings.Contains(p.failure(), e.expected) {
			return
		}
	}
	p.spend(e.timeout, turns)
}

// spend waits until so long is over since the beginning, and on a slow cluster until it could have done so much.
func (p *patience) spend(d time.Duration, turns int) {
	p.wait(d - time.Since(p.begun))
	if !p.expecter.paced || p.asking.Err() != nil {
		return
	}
	working, cancel := context.WithTimeout(p.asking, slowest)
	defer cancel()
	took, err := pace(working, p.expecter.client)
	if err != nil {
		return // a cluster that does not work at all is not waited for
	}
	p.wait(min(time.Duration(turns)*took, slowest) - time.Since(p.begun))
}

// saw notes what is wrong. It does not replace what was seen before by an answer that was cut off.
func (p *patience) saw(err error) {
	p.mu.Lock()
	if p.last == nil || p.asking.Err() == nil {
		p.last = err
	}
	p.mu.Unlock()
	p.begin()
}

// failure is what the assertion says if it ends now.
func (p *patience) failure() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%s: %v (%s)", p.subject, p.last, p.why())
}

func (p *patience) wait(d time.Duration) {
	select {
	case <-time.After(d):
	case <-p.asking.Done():
	}
}

// why says why an assertion ended.
func (p *patience) why() string {
	if p.ctx.Err() != nil {
		return fmt.Sprintf("stopped: %v", context.Cause(p.ctx))
	}
	waited := time.Since(p.begun)
	if over := waited - p.expecter.timeout; over < 0 || over > time.Second {
		return fmt.Sprintf("gave up after %s", waited.Round(time.Second))
	}
	return fmt.Sprintf("gave up after %s", p.expecter.timeout)
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

// Paced returns a copy of the Expecter that waits longer where the cluster is slow, which is found out when the time is
// up: pods must only be said to run there.
func (e *Expecter) Paced() *Expecter {
	paced := *e
	paced.paced = true
	return &paced
}

// Expecting returns a copy of the Expecter for a suite that is to fail with the text, because the operator is broken on purpose.
// An assertion that would fail so gives up earlier than others; what comes before it has all the time that it needs.
func (e *Expecter) Expecting(text string) *Expecter {
	expecting := *e
	expecting.expected = text
	return &expecting
}

// pace returns how long a Deployment of one pod takes now. All of a cluster has a part in that, as in what operators do,
// and all of it has the machine's load to bear.
func pace(ctx context.Context, c client.WithWatch) (time.Duration, error) {
	name := "pace-" + rand.String(8)
	labels := map[string]string{"app": name}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "none", Image: "none"}}},
			},
		},
	}
	begun := time.Now()
	if err := c.Create(ctx, deployment); err != nil {
		return 0, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unanswered)
		defer cancel()
		_ = c.Delete(ctx, deployment, client.PropagationPolicy(metav1.DeletePropagationBackground))
	}()
	for state, err := range watch.Follow(ctx, c, &appsv1.DeploymentList{}, watch.Named(client.ObjectKeyFromObject(deployment))...) {
		if started := state.Objects(); err == nil && len(started) > 0 && started[0].(*appsv1.Deployment).Status.AvailableReplicas > 0 {
			return time.Since(begun), nil
		}
	}
	return 0, ctx.Err()
}

// Bounded returns a context that ends when an assertion that begins now gives up, for what a test waits for by other means.
func (e *Expecter) Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	p, stop := e.patience(ctx, "")
	p.begin()
	return p.over, stop
}

// Until asks again and again until there is no error, for what can't be watched: a port, a file, what the API server
// would allow. The error says what was expected and what was seen.
func (e *Expecter) Until(ctx context.Context, subject string, ask func(context.Context) error) {
	e.t.Helper()
	p, stop := e.patience(ctx, subject)
	defer stop()
	for range watch.Poll(p.over, askAgain) {
		err := ask(p.asking)
		if err == nil {
			return
		}
		p.saw(err)
	}
	e.t.Fatalf("%s", p.failure())
}
