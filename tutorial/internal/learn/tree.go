package learn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/jsonpath"

	"github.com/example/operator-testbed/e2e/demo"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// What a page shows is bounded, so that a namespace with a thousand pods does not keep a browser busy.
const (
	mostChildren   = 50
	mostConditions = 20
	mostRunes      = 1000 // of a text that the cluster has
)

// column is a column that kubectl prints of a kind, other than its age.
type column struct{ name, path string }

// columns are those of custom resources.
type columns map[schema.GroupKind][]column

// tree returns the objects that nobody owns, with what they own below them, and how many more there are. Pods and ReplicaSets whose owner is
// unknown are left out: their owner is of no kind that the tutorial is about, or about to be seen.
func tree(objects []*unstructured.Unstructured, of columns) (roots []Object, more int) {
	known := make(map[types.UID]bool, len(objects))
	for _, o := range objects {
		known[o.GetUID()] = true
	}
	owned := map[types.UID][]*unstructured.Unstructured{}
	var top []*unstructured.Unstructured
	for _, o := range objects {
		switch owner := ownerOf(o, known); {
		case owner != "":
			owned[owner] = append(owned[owner], o)
		case len(o.GetOwnerReferences()) == 0 || o.GetKind() != "Pod" && o.GetKind() != "ReplicaSet":
			top = append(top, o)
		}
	}
	t := drawing{owned, of}
	return t.draw(top)
}

// ownerOf returns the UID of an object's owner; empty if none is known.
func ownerOf(o *unstructured.Unstructured, known map[types.UID]bool) types.UID {
	if controller := metav1.GetControllerOf(o); controller != nil && known[controller.UID] {
		return controller.UID
	}
	for _, owner := range o.GetOwnerReferences() {
		if known[owner.UID] {
			return owner.UID
		}
	}
	return ""
}

type drawing struct {
	owned map[types.UID][]*unstructured.Unstructured
	of    columns
}

// draw returns the first of the objects, and how many there are beyond them.
func (d drawing) draw(objects []*unstructured.Unstructured) (drawn []Object, more int) {
	shown := slices.DeleteFunc(slices.Clone(objects), d.retired)
	slices.SortFunc(shown, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetKind(), b.GetKind()),
			cmp.Compare(a.GetName(), b.GetName()))
	})
	if len(shown) > mostChildren {
		shown, more = shown[:mostChildren], len(shown)-mostChildren
	}
	drawn = make([]Object, 0, len(shown))
	for _, o := range shown {
		drawn = append(drawn, d.one(o))
	}
	return drawn, more
}

// rank puts what a person made before what operators and Kubernetes made.
func rank(o *unstructured.Unstructured) int {
	if group := o.GroupVersionKind().Group; group != "" && group != "apps" {
		return 0
	}
	return 1
}

// retired reports whether an object is a ReplicaSet of an earlier template, which is kept to go back to.
func (d drawing) retired(o *unstructured.Unstructured) bool {
	if o.GetKind() != "ReplicaSet" || len(d.owned[o.GetUID()]) > 0 {
		return false
	}
	replicas, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	return replicas == 0
}

func (d drawing) one(o *unstructured.Unstructured) Object {
	drawn := Object{ID: string(o.GetUID()), Kind: o.GetKind(), Name: o.GetName(), Namespace: o.GetNamespace()}
	conditions := conditionsOf(o)
	drawn.State, drawn.Health = d.stateOf(o, conditions)
	if o.GetDeletionTimestamp() != nil && o.GetKind() != "Pod" {
		drawn.State, drawn.Health = strings.TrimPrefix(drawn.State+", being deleted", ", "), Progressing
	}
	drawn.State = short(drawn.State)
	drawn.Conditions = shownConditions(o, conditions)
	drawn.Children, drawn.More = d.draw(d.owned[o.GetUID()])
	return drawn
}

// stateOf returns an object's state in words, which are those of make demo where that draws the kind.
func (d drawing) stateOf(o *unstructured.Unstructured, conditions []metav1.Condition) (state, health string) {
	switch kind := o.GroupVersionKind().GroupKind(); kind {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		return inHealth(demo.DeploymentState(demo.Typed[appsv1.Deployment](o)))
	case schema.GroupKind{Kind: "Pod"}:
		return inHealth(demo.PodState(demo.Typed[corev1.Pod](o)))
	case schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}:
		return replicaSetState(demo.Typed[appsv1.ReplicaSet](o))
	case cachev1alpha1.GroupVersion.WithKind("Memcached").GroupKind():
		return demo.MemcachedState(demo.Typed[cachev1alpha1.Memcached](o)), healthOf(conditions)
	default:
		return cells(o, d.of[kind]), healthOf(conditions)
	}
}

func inHealth(state string, health demo.Health) (string, string) {
	return state, map[demo.Health]string{demo.Good: Good, demo.Wait: Progressing, demo.Bad: Bad}[health]
}

func replicaSetState(r *appsv1.ReplicaSet) (state, health string) {
	wanted := int32(1)
	if r.Spec.Replicas != nil {
		wanted = *r.Spec.Replicas
	}
	health = Progressing
	if r.Status.ReadyReplicas == wanted {
		health = Good
	}
	return fmt.Sprintf("%d/%d ready", r.Status.ReadyReplicas, wanted), health
}

// cells returns what kubectl prints of an object in its columns, without those that are empty.
func cells(o *unstructured.Unstructured, of []column) string {
	var all []string
	for _, c := range of {
		var value strings.Builder
		path := jsonpath.New(c.name).AllowMissingKeys(true)
		if path.Parse("{"+c.path+"}") == nil && path.Execute(&value, o.Object) == nil && value.Len() > 0 {
			all = append(all, c.name+" "+value.String())
		}
	}
	return strings.Join(all, ", ")
}

// healthOf returns how an object with these conditions is.
func healthOf(conditions []metav1.Condition) string {
	health := None
	for _, c := range conditions {
		switch conditionHealth(c) {
		case demo.Bad:
			return Bad
		case demo.Wait:
			health = Progressing
		case demo.Good:
			if health == None {
				health = Good
			}
		}
	}
	return health
}

// conditionHealth knows the types of a Memcached, and takes any other type for one that is good when it is True.
func conditionHealth(c metav1.Condition) demo.Health {
	switch {
	case slices.Contains([]string{cachev1alpha1.ConditionAvailable, cachev1alpha1.ConditionProgressing, cachev1alpha1.ConditionDegraded}, c.Type):
		return demo.ConditionHealth(c)
	case c.Status == metav1.ConditionTrue:
		return demo.Good
	default:
		return demo.Wait
	}
}

func conditionsOf(o *unstructured.Unstructured) []metav1.Condition {
	var status struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	// What an object of somebody's making has there may be anything: then it has no conditions.
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &status) != nil {
		return nil
	}
	return status.Status.Conditions
}

// shownConditions returns the conditions of an object that is not a pod: a pod's say less than its state does.
func shownConditions(o *unstructured.Unstructured, conditions []metav1.Condition) []Condition {
	shown := []Condition{}
	if o.GetKind() == "Pod" || o.GetKind() == "ReplicaSet" {
		return shown
	}
	for _, c := range conditions[:min(len(conditions), mostConditions)] {
		shown = append(shown, Condition{
			Type: short(c.Type), Status: string(c.Status), Reason: short(c.Reason), Message: short(c.Message), Since: c.LastTransitionTime.UTC(),
		})
	}
	return shown
}

// short cuts off what is too long for a page.
func short(text string) string {
	if len(text) <= mostRunes {
		return text
	}
	if runes := []rune(text); len(runes) > mostRunes {
		return string(runes[:mostRunes]) + "…"
	}
	return text
}
