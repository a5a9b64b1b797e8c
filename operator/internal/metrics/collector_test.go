package metrics

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

func TestCollector(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := cachev1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	cluster := fake.NewClientBuilder().WithScheme(scheme).Build()
	// The fake client ignores the deadline of its context.
	inTime := interceptor.NewClient(cluster, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return errors.Join(ctx.Err(), c.List(ctx, list, options...))
		},
	})
	collector := &Collector{Reader: inTime}
	expect := func(when, want string) {
		t.Helper()
		if err := testutil.CollectAndCompare(collector, strings.NewReader(want)); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}

	expect("without Memcacheds", "")

	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "sessions"}}
	if err := cluster.Create(t.Context(), mc); err != nil {
		t.Fatal(err)
	}
	expect("before the first status", `
# HELP memcached_operator_desired_replicas How many replicas the spec of a Memcached asks for.
# TYPE memcached_operator_desired_replicas gauge
memcached_operator_desired_replicas{name="sessions",namespace="team"} 1
# HELP memcached_operator_ready_replicas How many replicas of a Memcached are ready, according to its status.
# TYPE memcached_operator_ready_replicas gauge
memcached_operator_ready_replicas{name="sessions",namespace="team"} 0
`)

	mc.Spec.Size = new(int32(3))
	mc.Status = cachev1alpha1.MemcachedStatus{ReadyReplicas: 2, Conditions: []metav1.Condition{
		{Type: "SomebodyElses", Status: metav1.ConditionTrue},
		{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse},
		{Type: cachev1alpha1.ConditionProgressing, Status: metav1.ConditionTrue},
		{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionUnknown},
	}}
	if err := cluster.Update(t.Context(), mc); err != nil {
		t.Fatal(err)
	}
	expect("after a scale", `
# HELP memcached_operator_condition Whether a condition of a Memcached is true (1) or not (0).
# TYPE memcached_operator_condition gauge
memcached_operator_condition{name="sessions",namespace="team",type="Available"} 0
memcached_operator_condition{name="sessions",namespace="team",type="Degraded"} 0
memcached_operator_condition{name="sessions",namespace="team",type="Progressing"} 1
# HELP memcached_operator_desired_replicas How many replicas the spec of a Memcached asks for.
# TYPE memcached_operator_desired_replicas gauge
memcached_operator_desired_replicas{name="sessions",namespace="team"} 3
# HELP memcached_operator_ready_replicas How many replicas of a Memcached are ready, according to its status.
# TYPE memcached_operator_ready_replicas gauge
memcached_operator_ready_replicas{name="sessions",namespace="team"} 2
`)

	if err := cluster.Delete(t.Context(), mc); err != nil {
		t.Fatal(err)
	}
	expect("after the deletion", "")

	collector.Reader = interceptor.NewClient(cluster, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("the cache is not started")
		},
	})
	expect("without a cache", "")
}

// One Memcached that can't be decoded has a metric of its kind, and the others have theirs.
func TestCollectorNamesTheUndecodable(t *testing.T) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(cachev1alpha1.GroupVersion.WithKind("Memcached"), &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(cachev1alpha1.GroupVersion.WithKind("MemcachedList"), &unstructured.UnstructuredList{})
	memcached := func(name string, size any) *unstructured.Unstructured {
		mc := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": size}}}
		mc.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind("Memcached"))
		mc.SetNamespace("team")
		mc.SetName(name)
		return mc
	}
	cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(memcached("bad", "three"), memcached("good", int64(2))).Build()
	if err := testutil.CollectAndCompare(&Collector{Reader: cluster}, strings.NewReader(`
# HELP memcached_operator_desired_replicas How many replicas the spec of a Memcached asks for.
# TYPE memcached_operator_desired_replicas gauge
memcached_operator_desired_replicas{name="good",namespace="team"} 2
# HELP memcached_operator_ready_replicas How many replicas of a Memcached are ready, according to its status.
# TYPE memcached_operator_ready_replicas gauge
memcached_operator_ready_replicas{name="good",namespace="team"} 0
# HELP memcached_operator_undecodable Whether a Memcached can't be decoded (1), so that it is not served. One that can be has no such metric.
# TYPE memcached_operator_undecodable gauge
memcached_operator_undecodable{name="bad",namespace="team"} 1
`)); err != nil {
		t.Error(err)
	}
}

func TestCollectorReportsWhileItRuns(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := cachev1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "sessions"}}
	registry := registerer{Registry: prometheus.NewPedanticRegistry(), registered: make(chan struct{})}
	collector := &Collector{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(mc).Build(), Registry: registry}
	count := func() int {
		count, err := testutil.GatherAndCount(registry)
		if err != nil {
			t.Fatal(err)
		}
		return count
	}

	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- collector.Start(ctx) }()
	<-registry.registered
	if got := count(); got != 2 {
		t.Errorf("%d metrics while it runs, want 2", got)
	}
	stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if got := count(); got != 0 {
		t.Errorf("%d metrics after it stopped, want none", got)
	}
}

// registerer signals when something was registered.
type registerer struct {
	*prometheus.Registry
	registered chan struct{}
}

func (r registerer) Register(collector prometheus.Collector) error {
	defer close(r.registered)
	return r.Registry.Register(collector)
}
