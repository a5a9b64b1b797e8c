package conformance

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onsi/gomega/gcustom"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/record"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// subject is the operator under test, and the way to its cluster.
type subject struct {
	mapping  Mapping
	client   client.WithWatch
	cluster  *embedded.Provider
	operator *runner.Operator
	audit    *audit.Log
	patience time.Duration
}

// scope is what one point has to itself.
type scope struct {
	*subject
	*verdict
	namespace string
	history   *record.Recorder
}

// defaultPort is memcached's own.
const defaultPort = 11211

// in runs a check in a namespace of its own, which enforces the restricted Pod Security level.
func (s *subject) in(ctx context.Context, v *verdict, check func(context.Context, *scope)) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "conformance-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := s.client.Create(ctx, namespace); err != nil {
		v.Fatalf("creating a namespace: %v", err)
	}
	recorder, err := record.Start(ctx, s.client, namespace.Name,
		s.mapping.GVK(), appsv1.SchemeGroupVersion.WithKind("Deployment"), corev1.SchemeGroupVersion.WithKind("Pod"))
	if err != nil {
		v.Fatalf("%v", err)
	}
	defer recorder.Stop()
	check(ctx, &scope{subject: s, verdict: v, namespace: namespace.Name, history: recorder})
}

func (s *scope) expect() *framework.Expecter {
	return framework.NewExpecter(s.verdict, s.client).Within(s.patience).Paced()
}

// must ends the check when something that it needs did not work.
func (s *scope) must(err error) {
	if err != nil {
		s.Fatalf("%v", err)
	}
}

// create creates a custom resource.
func (s *scope) create(ctx context.Context, name string, size int64) *unstructured.Unstructured {
	object := s.mapping.object(s.namespace, name, size, defaultPort)
	s.must(s.client.Create(ctx, object))
	return object
}

// change patches a custom resource.
func (s *scope) change(ctx context.Context, object *unstructured.Unstructured, edit func()) {
	before := object.DeepCopy()
	edit()
	s.must(s.client.Patch(ctx, object, client.MergeFrom(before)))
}

// patch merges into an object.
func (s *scope) patch(ctx context.Context, object client.Object, patch string) {
	s.must(s.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// crash lets the pods of a custom resource's Deployment crash, again and again until restore.
func (s *scope) crash(ctx context.Context, name string) (restore func()) {
	deployment := s.deployment(name)
	s.must(s.client.Get(ctx, client.ObjectKeyFromObject(deployment), deployment))
	var pods corev1.PodList
	s.must(s.client.List(ctx, &pods, client.InNamespace(s.namespace), client.MatchingLabels(deployment.Spec.Selector.MatchLabels)))
	simulate := func(value string) {
		for i := range pods.Items {
			s.patch(ctx, &pods.Items[i], `{"metadata":{"annotations":{"testbed.example.com/simulate":`+value+`}}}`)
		}
	}
	simulate(`"crashloop"`)
	return func() {
		simulate("null")
		for i := range pods.Items {
			s.expect().Object(ctx, &pods.Items[i], gcustom.MakeMatcher(func(pod *corev1.Pod) (bool, error) {
				return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
					return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
				}), nil
			}))
		}
	}
}

// operatorAsBefore runs the operator as it was first started, at the end of a check that stops it or runs it otherwise.
func (s *scope) operatorAsBefore(ctx context.Context) { s.alsoFails(s.operator.Restart(ctx)) }

// alsoFails adds an error to why the claim does not hold.
func (s *scope) alsoFails(err error) {
	if err != nil {
		s.why = strings.TrimSpace(s.why + "\n" + err.Error())
	}
}

// versions returns every version of the recorded objects until now.
func (s *scope) versions(ctx context.Context) []record.Version {
	versions, err := s.history.CaughtUp(ctx)
	s.must(err)
	return versions
}

// revision returns the revision of an object as it was last read or written.
func (s *scope) revision(object *unstructured.Unstructured) uint64 {
	revision, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	s.must(err)
	return revision
}

// deployment refers to the Deployment behind a custom resource.
func (s *scope) deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: strings.ReplaceAll(s.mapping.Deployment, "{name}", name)}}
}

// sized waits until the Deployment has that many pods, all ready.
func (s *scope) sized(ctx context.Context, name string, size int32) {
	s.expect().DeploymentSize(ctx, client.ObjectKeyFromObject(s.deployment(name)), size)
}

// says waits until the custom resource has the condition, whichever generation that is about: a claim of its own asks for
// observedGeneration.
func (s *scope) says(ctx context.Context, object *unstructured.Unstructured, kind string, status metav1.ConditionStatus) {
	s.conditions(ctx, object, fmt.Sprintf("%s=%s", kind, status), func(conditions []metav1.Condition) bool {
		return meta.IsStatusConditionPresentAndEqual(conditions, kind, status)
	})
}

// doesNotSay waits until the condition is not True. One that the mapping does not name never is.
func (s *scope) doesNotSay(ctx context.Context, object *unstructured.Unstructured, kind string) {
	s.conditions(ctx, object, fmt.Sprintf("no %s=True", kind), func(conditions []metav1.Condition) bool {
		return !meta.IsStatusConditionTrue(conditions, kind)
	})
}

// conditions waits until the custom resource has conditions as expected.
func (s *scope) conditions(ctx context.Context, object *unstructured.Unstructured, expected string, match func([]metav1.Condition) bool) {
	s.expect().Object(ctx, object.DeepCopy(), gcustom.MakeMatcher(func(seen *unstructured.Unstructured) (bool, error) {
		conditions, err := framework.ConditionsOf(seen)
		if err != nil {
			return false, err
		}
		if !match(conditions) {
			return false, fmt.Errorf("expected %s; last seen: %s", expected, framework.DescribeConditions(conditions))
		}
		return true, nil
	}))
}

// available waits until the custom resource is of that size and says so.
func (s *scope) available(ctx context.Context, object *unstructured.Unstructured, size int32) {
	s.sized(ctx, object.GetName(), size)
	s.says(ctx, object, s.mapping.Conditions.Available, metav1.ConditionTrue)
}

// settled waits until the custom resource is available, and neither progresses nor fails.
func (s *scope) settled(ctx context.Context, object *unstructured.Unstructured, size int32) {
	s.available(ctx, object, size)
	s.doesNotSay(ctx, object, s.mapping.Conditions.Progressing)
	s.doesNotSay(ctx, object, s.mapping.Conditions.Degraded)
}

// admitsFailure waits until the custom resource says that something is wrong.
func (s *scope) admitsFailure(ctx context.Context, object *unstructured.Unstructured) {
	if s.mapping.Conditions.Degraded != "" {
		s.says(ctx, object, s.mapping.Conditions.Degraded, metav1.ConditionTrue)
		return
	}
	s.says(ctx, object, s.mapping.Conditions.Available, metav1.ConditionFalse)
}

// writes are the operator's writes in the namespace since the mark: events are no state, and not counted.
func (s *scope) writes(since audit.Mark, filters ...audit.Filter) framework.Writes {
	return framework.Writes{
		Log: s.audit, Since: since, User: s.operator.UserName(),
		Filters: append([]audit.Filter{audit.InNamespace(s.namespace), audit.Not(audit.Resource("events", ""))}, filters...),
	}
}

func (s *scope) mark() audit.Mark {
	mark, err := s.audit.Now()
	s.must(err)
	return mark
}

// barrier returns when the operator has worked off what it had to do: a canary that was created after it is Available, and
// gone again. It returns what keeps the canary's own writes from being counted.
func (s *scope) barrier(ctx context.Context) audit.Filter {
	const name = "canary"
	object := s.create(ctx, name, 1)
	s.available(ctx, object, 1)
	s.must(s.client.Delete(ctx, object))
	s.expect().Gone(ctx, object, s.deployment(name))
	return audit.Not(audit.About(name))
}
