package memcached

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
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
	// askEvery is the time between two requests of a client that does not stop asking: 50 come in a second.
	askEvery = 20 * time.Millisecond
	// managerReplicas is how many replicas the operator has in its manifests.
	managerReplicas = 2
	// rollingRestarts is how many times each replica is restarted, and rolloutTimeout how long one rollout of pods may take: each is
	// probed for the first time after five seconds, and then every ten.
	rollingRestarts = 3
	rolloutTimeout  = 3 * time.Minute
)

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
			answered := askForMemcacheds(ctx, s)
			for range rollingRestarts {
				restartAll(ctx, s)
			}
			s.Logf("%d requests were answered", answered())
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

// askForMemcacheds creates Memcacheds at a steady rate, as dry runs, until stop is called. The test fails if any of them is refused. stop
// returns how many there were.
func askForMemcacheds(ctx context.Context, s *framework.Scope) (stop func() int) {
	s.Helper()
	asking, cancel := context.WithCancel(ctx)
	mc := named(s, s.NewName("asked"))
	mc.Spec.Size = new(s.Size(1, 2))
	var requests errgroup.Group
	count := make(chan int, 1)
	go func() {
		tick := time.NewTicker(askEvery)
		defer tick.Stop()
		asked := 0
		defer func() { count <- asked }()
		for {
			select {
			case <-asking.Done():
				return
			case <-tick.C:
			}
			asked++
			requests.Go(func() error {
				admitted := mc.DeepCopy()
				if err := s.Client.Create(ctx, admitted, client.DryRunAll); err != nil {
					return err
				}
				if admitted.Annotations[cachev1alpha1.AnnotationRequestedBy] == "" {
					return errors.New("one was admitted without the webhooks")
				}
				return nil
			})
		}
	}()
	return func() int {
		s.Helper()
		cancel()
		asked := <-count
		if err := requests.Wait(); err != nil {
			s.Errorf("expected all of %d Memcacheds to be admitted; last seen: %v", asked, err)
		}
		return asked
	}
}
