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
	"github.com/example/operator-testbed/e2e/framework/record"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// Scope is what a feature has to itself, and its way to what all share.
type Scope struct {
	// T is the test of the step that runs now.
	*testing.T
	// Namespace is the feature's own. It enforces the restricted Pod Security level, and goes with the feature.
	Namespace string
	// Client is an administrator's, not limited in requests per second.
	Client client.WithWatch
	// Config is how Client reaches the cluster: for clients of the feature's own, who listen to warnings or are somebody else.
	Config *rest.Config
	// Kubeconfig is the file by which programs reach the cluster as an administrator.
	Kubeconfig string
	// Operator is the operator under test, or nil where there is none. Only features that run alone may stop or restart it.
	Operator *runner.Operator
	// History records the namespace from before the feature's first step.
	History *record.Recorder
	// Audit is the API server's audit log, or nil where the cluster keeps none.
	Audit *audit.Log
	// Cluster is what can be done with the cluster.
	Cluster cluster.Capabilities
	// Webhooks is false where the API server can't call the operator's webhooks, so that it runs without them.
	Webhooks bool
	// Deployed is the operator as an image in pods, or nil where it runs as a process.
	Deployed *runner.Deployed
	// Image is what the operator's image is called on nodes that have it; empty where the operator is not deployed.
	Image string

	values    *values
	timeout   time.Duration
	provider  cluster.Provider
	manifests runner.Manifests
	deploy    func(ctx context.Context, m runner.Manifests, replicas int, patience []string) (*runner.Deployed, error) // nil where no image can run
}

// Expect returns the assertions, on behalf of the step that runs now.
func (s *Scope) Expect() *Expecter {
	return s.expecter(s.T)
}

// With returns the scope on behalf of a subtest of the step.
func (s *Scope) With(t *testing.T) *Scope {
	of := *s
	of.T = t
	return &of
}

func (s *Scope) expecter(t T) *Expecter {
	e := NewExpecter(t, s.Client).Within(s.timeout).Expecting(os.Getenv("TESTBED_EXPECTED"))
	if s.Cluster.RunsPods { // pods that take their time are what its timeout is about
		return e
	}
	return e.Paced()
}

// Errors returns the last distinct errors that the replica of that number has logged, without those about other features'
// namespaces.
func (s *Scope) Errors(replica int) []string {
	s.Helper()
	log, err := os.ReadFile(s.Operator.Replicas()[replica].LogFile())
	s.must(err)
	return lastErrors(log, s.Namespace, s.Namespace[:strings.LastIndex(s.Namespace, "-")+1], 10)
}

// must fails the test on an error.
func (s *Scope) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// needs skips the test unless it can go on, and says why.
func (s *Scope) needs(able bool, format string, args ...any) {
	s.Helper()
	if !able {
		s.Skipf(format, args...)
	}
}

// NeedsControl skips the test where the component of the cluster is out of a test's reach.
func (s *Scope) NeedsControl(component string) {
	s.Helper()
	s.needs(s.Cluster.Control != nil, "this cluster's components are out of a test's reach, so %s can't be broken here", component)
}

// Control acts on a component of the cluster, such as [cluster.KubeAPIServer]. Only features that run alone may do so. It skips the
// test where NeedsControl does. A component that it pauses goes on when the test is over, if not before.
func (s *Scope) Control(ctx context.Context, component string, action cluster.Action) {
	s.Helper()
	s.NeedsControl(component)
	s.must(s.Cluster.Control(ctx, component, action))
	if action == cluster.Pause {
		s.Cleanup(func() { _ = s.Cluster.Control(context.WithoutCancel(ctx), component, cluster.Resume) })
	}
}

// Compact makes etcd forget all versions but the last of each object. Only features that run alone may do so. It skips the test
// where etcd is out of reach.
func (s *Scope) Compact(ctx context.Context) {
	s.Helper()
	s.needs(s.Cluster.Compact != nil, "this cluster's etcd is out of a test's reach, so it can't be compacted here")
	s.must(s.Cluster.Compact(ctx))
}

// Bounded returns a context that ends when an assertion gives up, for what a test waits for by itself. Such a test says what it
// has last seen, which the context's error does not.
func (s *Scope) Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return s.expecter(nil).Bounded(ctx)
}

// recoverTimeout bounds what has to work for a feature to go on, whoever is to blame that it does not. It is a safety net, and
// does not shrink with the time that an assertion is given.
const recoverTimeout = 3 * time.Minute

// Versions returns every version of the recorded objects until now.
func (s *Scope) Versions(ctx context.Context) []record.Version {
	s.Helper()
	ctx, cancel := context.WithTimeout(ctx, recoverTimeout)
	defer cancel()
	versions, err := s.History.CaughtUp(ctx)
	s.must(err)
	return versions
}

// ControlPlane waits until the cluster's API server is ready, after it was away, and has Kubernetes' own controllers begin anew:
// client-go lets a watch that broke wait longer with every outage, up to a minute, and forgets none for two minutes. One feature
// after another that takes the API server away would wait for the controllers, not for the operator.
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

// NeedsAudit skips the test where the cluster keeps no audit log to count requests in.
func (s *Scope) NeedsAudit() {
	s.Helper()
	s.needs(s.Audit != nil, "this cluster keeps no audit log that a test could read, so requests can't be counted here")
}

// NeedsSimulation skips the test where pods really run, which what it does, as the reason says, does not go with.
func (s *Scope) NeedsSimulation(reason string) {
	s.Helper()
	s.needs(!s.Cluster.RunsPods, "pods really run on this cluster: %s", reason)
}

// NeedsWebhooks skips the test where the API server can't call the operator's webhooks.
func (s *Scope) NeedsWebhooks() {
	s.Helper()
	s.needs(s.Webhooks, "the API server of this cluster can't call webhooks of a process on this machine")
}

// Mark returns the place in the audit log at which counting begins. It skips the test where there is no such log.
func (s *Scope) Mark() audit.Mark {
	s.Helper()
	s.NeedsAudit()
	mark, err := s.Audit.Now()
	s.must(err)
	return mark
}

// Writes returns what the operator has written in the feature's namespace since the mark.
func (s *Scope) Writes(since audit.Mark, filters ...audit.Filter) Writes {
	return Writes{
		Log: s.Audit, Since: since, User: s.Operator.UserName(),
		Filters: append([]audit.Filter{audit.InNamespace(s.Namespace)}, filters...),
	}
}

type scopeKey struct{}

// open makes a feature's namespace and begins to record it. What it opens, it closes when the test is done, however it ends:
// e2e-framework skips its own teardown after a step that failed for good.
func (s *Suite) open(ctx context.Context, _ *envconf.Config, t *testing.T, feature types.Feature) (context.Context, error) {
	namespace, err := s.createNamespace(ctx)
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
		Cluster: can, Webhooks: can.CallsHost || s.deployed != nil && s.manifests.HasWebhooks(), Deployed: s.deployed,
		values: newValues(s.seed, s.options.Name, feature.Name()), timeout: s.timeout, provider: s.cluster, manifests: s.manifests,
	}
	if s.deploys() {
		scope.deploy, scope.Image = s.deploy, s.image()
	}
	t.Cleanup(func() {
		recorder.Stop()
		if t.Failed() {
			s.keep(scope)
		}
		if err := s.client.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
			t.Logf("deleting the namespace %s: %v", namespace, err)
		}
	})
	return context.WithValue(ctx, scopeKey{}, scope), nil
}

func (s *Suite) createNamespace(ctx context.Context) (string, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: s.options.Name + "-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := s.client.Create(ctx, namespace); err != nil {
		return "", fmt.Errorf("creating a namespace for the feature: %w", err)
	}
	return namespace.Name, nil
}
