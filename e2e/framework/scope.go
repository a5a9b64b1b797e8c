package framework

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/framework/record"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// Scope is passed to each step: it contains the feature's own namespace, the operator under test and the cluster. It is also the test of
// the current step: s.Fatalf, s.Cleanup and s.Skip belong to that test, and [testing.T.Failed] reports whether it has failed.
type Scope struct {
	// T is the test of the step that runs now.
	*testing.T
	// Namespace is the feature's own namespace. It enforces the restricted Pod Security level, and is deleted when the feature is done.
	Namespace string
	// Client has the permissions of an administrator. It is not limited in requests per second.
	Client client.WithWatch
	// Config is the configuration of Client, for a feature's own clients, which read warnings or act as another user.
	Config *rest.Config
	// Kubeconfig is the path of a kubeconfig with an administrator's access to the cluster.
	Kubeconfig string
	// Operator is the operator under test, or nil if there is none. Only features that run alone may stop or restart it.
	Operator *runner.Operator
	// History records every version of the objects of [Options.Record] in the namespace. It starts before the feature's first step.
	History *record.Recorder
	// Audit is the API server's audit log, or nil if the cluster has none.
	Audit *audit.Log
	// Cluster describes what the cluster can do.
	Cluster cluster.Capabilities
	// Webhooks is false if the API server can't call the operator's webhooks, so the operator runs without them.
	Webhooks bool
	// Deployed is the operator that runs as an image in pods, or nil if it runs as a process.
	Deployed *runner.Deployed
	// Image is the name of the operator's image on the nodes, or empty if the operator is not deployed as an image.
	Image string

	step      string  // the claim of the step that runs now; empty for a Setup step
	result    *result // of the feature
	values    *values
	timeout   time.Duration
	turns     int                         // see patience
	probe     func(context.Context) error // in tests of this package, the operator's readiness probe
	provider  cluster.Provider
	manifests manifest.Set
	deploy    func(ctx context.Context, m manifest.Set, replicas int, patience []string) (*runner.Deployed, error) // nil where no image can run
}

// With returns a copy of the scope for t, a subtest of the step.
func (s *Scope) With(t *testing.T) *Scope {
	of := *s
	of.T = t
	return &of
}

// Manifests returns the manifests that install the operator.
func (s *Scope) Manifests() manifest.Set { return s.manifests }

// Errors returns the messages of the last ten distinct errors that a replica of the operator's process has logged, the latest one last,
// without those about other features' namespaces. Replicas count from 0.
func (s *Scope) Errors(replica int) []string {
	s.Helper()
	log, err := os.ReadFile(s.Operator.Replicas()[replica].LogFile())
	s.must(err)
	return lastErrors(log, s.Namespace, s.Namespace[:strings.LastIndex(s.Namespace, "-")+1], 10)
}

// must fails the test if err is not nil.
func (s *Scope) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// check fails the test, which goes on, if err is not nil.
func (s *Scope) check(err error) {
	s.Helper()
	if err != nil {
		s.Error(err)
	}
}

// needs skips the test with the message unless this cluster is able to show what it is about.
func (s *Scope) needs(able bool, format string, args ...any) {
	s.Helper()
	if !able {
		reason := fmt.Sprintf(format, args...)
		s.result.note(NotTried, s.step, reason)
		skip(s.T, elsewhere(s.Cluster), reason)
	}
}

// NeedsControl skips the test if tests can't stop, kill or pause the component of the cluster, such as [cluster.Etcd].
func (s *Scope) NeedsControl(component string) {
	s.Helper()
	s.needs(s.Cluster.Control != nil, "this cluster's components are out of a test's reach, so %s can't be broken here", component)
}

// Control acts on a component of the cluster, such as [cluster.KubeAPIServer]. Only features that run alone may call it. It skips the test
// in the same cases as [Scope.NeedsControl]. A paused component is resumed when the test is done, at the latest.
func (s *Scope) Control(ctx context.Context, component string, action cluster.Action) {
	s.Helper()
	s.NeedsControl(component)
	s.must(s.Cluster.Control(ctx, component, action))
	if action == cluster.Pause {
		s.Cleanup(func() { _ = s.Cluster.Control(context.WithoutCancel(ctx), component, cluster.Resume) })
	}
}

// Compact makes etcd drop all versions of each object except the last one, so that watches that have fallen behind must list again. Only
// features that run alone may call it. It skips the test if tests can't reach etcd.
func (s *Scope) Compact(ctx context.Context) {
	s.Helper()
	s.needs(s.Cluster.Compact != nil, "this cluster's etcd is out of a test's reach, so it can't be compacted here")
	s.must(s.Cluster.Compact(ctx))
}

// Versions returns every version so far of the objects of [Options.Record] in the namespace, ordered by revision. It waits until the record
// has caught up with the API server.
func (s *Scope) Versions(ctx context.Context) []record.Version {
	s.Helper()
	ctx, cancel := context.WithTimeout(ctx, recoverTimeout)
	defer cancel()
	versions, err := s.History.CaughtUp(ctx)
	s.must(err)
	return versions
}

// ControlPlane waits until the API server is ready again after an outage, and restarts Kubernetes' own controllers. client-go backs off
// longer after each outage before it watches again, up to a minute, and resets that only after two minutes. Without the restart,
// features that stop the API server one after another would wait for the controllers, not for the operator.
func (s *Scope) ControlPlane(ctx context.Context) {
	s.Helper()
	ctx, cancel := context.WithTimeout(ctx, recoverTimeout)
	defer cancel()
	if err := s.provider.WaitForControlPlane(ctx, nil); err != nil {
		s.Fatalf("waiting until the API server is ready again: %v", err)
	}
	for _, controllers := range []string{cluster.KubeControllerManager, cluster.KubeScheduler} {
		s.Control(ctx, controllers, cluster.Restart)
	}
}

// NeedsAudit skips the test if the cluster has no audit log that tests can read.
func (s *Scope) NeedsAudit() {
	s.Helper()
	s.needs(s.Audit != nil, "this cluster keeps no audit log that a test could read, so requests can't be counted here")
}

// NeedsSimulation skips the test if pods really run. The reason says why the test needs simulated pods.
func (s *Scope) NeedsSimulation(reason string) {
	s.Helper()
	s.needs(!s.Cluster.RunsPods, "pods really run on this cluster: %s", reason)
}

// NeedsWebhooks skips the test if the API server can't call the operator's webhooks.
func (s *Scope) NeedsWebhooks() {
	s.Helper()
	s.needs(s.Webhooks, "the API server of this cluster can't call webhooks of a process on this machine")
}

// NeedsGo skips the test if no program can be compiled.
func (s *Scope) NeedsGo() {
	s.Helper()
	if os.Getenv("TESTBED_GO") == "no" {
		s.Skipf("this compiles programs, which a grader's cell can't; make test shows it")
	}
}

// Mark returns the end of the audit log, at which a later [Scope.Writes] can start. It skips the test if there is no audit log.
func (s *Scope) Mark() audit.Mark {
	s.Helper()
	s.NeedsAudit()
	mark, err := s.Audit.Now()
	s.must(err)
	return mark
}

// Writes selects the operator's write requests since the mark in the feature's namespace, or in all namespaces if the scope's is empty, for
// [VerifyWrites] and [WaitForRequest]. A request has to pass all filters.
func (s *Scope) Writes(since audit.Mark, filters ...audit.Filter) Writes {
	if s.Namespace != "" {
		filters = append(filters, audit.InNamespace(s.Namespace))
	}
	return Writes{Log: s.Audit, Since: since, User: s.Operator.UserName(), Filters: filters}
}

type scopeKey struct{}

// open creates a feature's namespace and starts to record it. It cleans up when the test is done: e2e-framework skips its own teardown
// after a step that has called FailNow.
func (s *Suite) open(ctx context.Context, _ *envconf.Config, t *testing.T, feature types.Feature) (context.Context, error) {
	namespace, err := s.createNamespace(ctx, t)
	if err != nil {
		return ctx, err
	}
	recorder, err := record.Start(ctx, s.client, namespace, s.options.Record...)
	if err != nil {
		return ctx, err
	}
	can := s.cluster.Capabilities()
	scope := &Scope{
		T: t, Namespace: namespace, Client: s.client, Config: rest.CopyConfig(s.config), Kubeconfig: s.cluster.GetKubeconfig(), Operator: s.operator, History: recorder, Audit: s.auditLog(),
		Cluster: can, Webhooks: s.callsProcess() || (s.deployed != nil || s.inPods()) && s.manifests.HasWebhooks(), Deployed: s.deployed,
		values: newValues(s.seed, s.options.Name, feature.Name()), provider: s.cluster, manifests: s.manifests,
	}
	scope.timeout, scope.turns = s.patience()
	if s.deploys() {
		scope.deploy, scope.Image = s.deploy, s.image()
	}
	since, err := s.begin(scope)
	if err != nil {
		return ctx, err
	}
	t.Cleanup(func() {
		s.verifyAlways(context.WithoutCancel(ctx), scope, t, since)
		recorder.Stop()
		if t.Failed() {
			s.failed.Store(true)
			s.keep(scope)
		}
	})
	return context.WithValue(ctx, scopeKey{}, scope), nil
}

// createNamespace creates a feature's namespace, which is deleted when the test is done, and waits until pods can run in it.
func (s *Suite) createNamespace(ctx context.Context, t *testing.T) (string, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: s.options.Name + "-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := s.client.Create(ctx, namespace); err != nil {
		return "", fmt.Errorf("creating a namespace for the feature: %w", err)
	}
	t.Cleanup(func() {
		if err := s.client.Delete(context.Background(), namespace); err != nil {
			t.Logf("deleting the namespace %s: %v", namespace.Name, err)
		}
	})
	return namespace.Name, untilServiceAccount(ctx, s.client, namespace.Name)
}

// untilServiceAccount waits until a namespace has the ServiceAccount as which its pods run. Before that, the API server refuses each pod,
// and the warning about that looks like the operator's fault. Kubernetes' own e2e framework waits for it, too.
func untilServiceAccount(ctx context.Context, c client.WithWatch, namespace string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, recoverTimeout, fmt.Errorf("gave up after %s", recoverTimeout))
	defer cancel()
	account := client.ObjectKey{Namespace: namespace, Name: "default"}
	exists := func(*corev1.ServiceAccount) bool { return true }
	if _, err := watch.Object(ctx, c, &corev1.ServiceAccountList{}, account, exists); err != nil {
		return fmt.Errorf("waiting for the ServiceAccount %s, as which pods run: %w", account, err)
	}
	return nil
}
