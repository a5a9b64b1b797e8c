package memcached

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

const (
	// askEvery is the time between two requests of a client that does not stop asking, at most askAtOnce of which wait for a response: 50
	// come in a second, or as many as a busy machine can answer. Otherwise they would pile up there, and time out.
	askEvery  = 20 * time.Millisecond
	askAtOnce = 10
	// managerReplicas is how many replicas the operator has in its manifests.
	managerReplicas = 2
	// rollingRestarts is how many times each replica is restarted, and rolloutTimeout how long one rollout of pods may take: each is
	// probed for the first time after five seconds, and then every ten.
	rollingRestarts = 3
	rolloutTimeout  = 3 * time.Minute
	// tries is how many times a request that was lost is sent. An API server keeps connections for later requests, and a server that stops
	// closes them. A request that is sent just then is lost, which a busy machine makes likelier. HTTP/2 has a way to avoid that, but API
	// servers call webhooks by HTTP/1.1: https://github.com/kubernetes/kubernetes/issues/75791. A replica that stops loses at most one
	// request on each connection, so with two replicas, one of a few tries reaches the other one.
	tries = 5
)

// lost matches the errors about such requests. Which one it is depends on when the connection was closed: while the API server waited
// for the response, before it sent the request, or in between.
var lost = regexp.MustCompile(`: (?:EOF|use of closed network connection|write: broken pipe|read: connection reset by peer|http: server closed idle connection)$`)

// TestRollingRestart owns the operator, of which two replicas run: as pods where the operator is deployed as an image, so that the
// kubelet, the endpoints and kube-proxy decide when requests stop coming, and otherwise as processes, each of which gets requests for a
// while after its SIGTERM, as a pod does.
func TestRollingRestart(t *testing.T) {
	feature := memcached.Feature("rolling restart").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "operator").
		Setup(ownOperator)
	framework.Given(feature, func(ctx context.Context, s *framework.Scope) (restartAll func(context.Context, *framework.Scope)) {
		if s.Webhooks {
			return rollProcesses(ctx, s)
		}
		stop(ctx, s)
		s.Deploy(ctx, managerReplicas)
		return rollPods
	}).
		Assess("fails no admission", func(ctx context.Context, s *framework.Scope, restartAll func(context.Context, *framework.Scope)) {
			stop := askForMemcacheds(ctx, s)
			for range rollingRestarts {
				restartAll(ctx, s)
			}
			asked, refused := stop()
			if len(refused) > 0 {
				s.Errorf("expected all of %d Memcacheds to be admitted; last seen: %d refused, the first because of: %v", asked, len(refused), refused[0])
			}
			s.Logf("there were %d requests", asked)
		}).
		TestAlone(t)
}

// rollProcesses adds a process, and returns a function that restarts one after the other.
func rollProcesses(ctx context.Context, s *framework.Scope) func(context.Context, *framework.Scope) {
	s.Helper()
	second, err := s.Operator.AddReplica(ctx)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := second.Remove(context.WithoutCancel(ctx)); err != nil {
			s.Error(err)
		}
	})
	return func(ctx context.Context, s *framework.Scope) {
		s.Helper()
		for _, replica := range []*runner.Replica{s.Operator.Replicas()[0], second} {
			if err := replica.Restart(ctx); err != nil {
				s.Fatal(err)
			}
		}
	}
}

// rollPods replaces the operator's pods as `kubectl rollout restart` does, and returns when the old ones are gone.
func rollPods(ctx context.Context, s *framework.Scope) {
	s.Helper()
	manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.Deployed.Manager.Namespace, Name: s.Deployed.Manager.Name}}
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, time.Now().Format(time.RFC3339Nano))
	if err := s.Client.Patch(ctx, manager, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		s.Fatal(err)
	}
	patient := s.Patient(rolloutTimeout)
	framework.WaitForDeployment(ctx, patient, s.Deployed.Manager, managerReplicas)
	framework.WaitForObjects(ctx, patient, framework.ObjectsInput{
		List:    &corev1.PodList{},
		Options: []client.ListOption{client.InNamespace(s.Deployed.Manager.Namespace)},
		Matcher: HaveLen(managerReplicas),
	})
}

// askForMemcached creates a Memcached as a dry run, and returns an error unless the webhooks have admitted it.
func askForMemcached(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) error {
	admitted := mc.DeepCopy()
	if err := s.Client.Create(ctx, admitted, client.DryRunAll); err != nil {
		return err
	}
	if admitted.Annotations[cachev1alpha1.AnnotationRequestedBy] == "" {
		return errors.New("it was admitted without the webhooks")
	}
	return nil
}

// askForMemcacheds creates Memcacheds at a steady rate, or as fast as they are answered, as dry runs, until stop is called. That returns
// how many there were, and the errors of those that were refused.
func askForMemcacheds(ctx context.Context, s *framework.Scope) (stop func() (asked int, refused []error)) {
	s.Helper()
	asking, cancel := context.WithCancel(ctx)
	mc := named(s, s.NewName("asked"))
	mc.Spec.Size = new(s.Size(1, 2))
	var (
		requests sync.WaitGroup
		mu       sync.Mutex
		asked    int
		refused  []error
	)
	ended, free := make(chan struct{}), make(chan struct{}, askAtOnce)
	go func() {
		tick := time.NewTicker(askEvery)
		defer tick.Stop()
		defer close(ended)
		for {
			select {
			case <-asking.Done():
				return
			case <-tick.C:
			}
			free <- struct{}{}
			asked++
			requests.Go(func() {
				defer func() { <-free }()
				err := askForMemcached(ctx, s, mc)
				for again := 1; again < tries && err != nil && lost.MatchString(err.Error()); again++ {
					err = askForMemcached(ctx, s, mc)
				}
				if err != nil {
					mu.Lock()
					defer mu.Unlock()
					refused = append(refused, err)
				}
			})
		}
	}()
	return func() (int, []error) {
		cancel()
		<-ended
		requests.Wait()
		return asked, refused
	}
}
