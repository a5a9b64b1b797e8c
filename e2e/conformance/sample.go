package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/manifest"
)

// Sample is an [Operator] that is described by one custom resource that it serves. The objects under test are copies of that resource.
// Their children are found by owner references.
type Sample struct {
	// file is the path that object was read from.
	file   string
	object *unstructured.Unstructured
	// companions are what it refers to. They are created before the first copy in each namespace.
	companions []*unstructured.Unstructured

	// kinds are what the objects are of that come with a copy, and owns those that a copy owns itself. global says that copies have no
	// namespace. outcome is what the status of a copy says once the operator is done with it. Served finds out all of them.
	kinds, owns []schema.GroupVersionKind
	global      bool
	outcome     string
}

// ReadSample reads the YAML file of a custom resource, and those of the objects that it refers to.
func ReadSample(path string, companions ...string) (*Sample, error) {
	sample, err := readSample(path)
	if err != nil {
		return nil, err
	}
	for _, companion := range companions {
		manifests, err := manifest.Load(companion)
		if err != nil {
			return nil, fmt.Errorf("read the companion %s of the sample: %w", companion, err)
		}
		sample.companions = append(sample.companions, manifests.Objects()...)
	}
	return sample, nil
}

func readSample(path string) (*Sample, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the sample: %w", err)
	}
	manifests, err := manifest.Parse(content)
	if err != nil {
		return nil, fmt.Errorf("read the sample %s: it is not the YAML of a Kubernetes object: %w", path, err)
	}
	switch objects := manifests.Objects(); len(objects) {
	case 0:
		return nil, fmt.Errorf("read the sample %s: it has no object: add the custom resource that the operator serves", path)
	case 1:
		return &Sample{file: path, object: objects[0]}, nil
	default:
		return nil, fmt.Errorf("read the sample %s: it has several objects (%s): give a file with only the custom resource that the operator serves, and name files of what it refers to as companions",
			path, strings.Join(namesOf(objects), ", "))
	}
}

// GVK is the kind of the custom resource.
func (o *Sample) GVK() schema.GroupVersionKind { return o.object.GroupVersionKind() }

// Describe returns what all APIs have in common.
func (*Sample) Describe() API { return API{Largest: 1} }

// New returns a copy of the sample, for any size and port.
func (o *Sample) New(namespace, name string, _, _ int32) client.Object {
	object := o.object.DeepCopy()
	delete(object.Object, "status")
	object.Object["metadata"] = map[string]any{}
	object.SetLabels(o.object.GetLabels())
	object.SetAnnotations(o.object.GetAnnotations())
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// Resize does nothing.
func (*Sample) Resize(client.Object, int32) {}

// SetPort does nothing.
func (*Sample) SetPort(client.Object, int32) {}

// sample returns the sample, or nil if the operator is given in another way.
func (c Checks) sample() *Sample {
	sample, _ := c.Operator.(*Sample)
	return sample
}

// open finds out what only a cluster knows of the sample, and returns the scope in which its copies are created.
func (o *Sample) open(s *framework.Scope) *framework.Scope {
	namespaced, err := s.Client.IsObjectNamespaced(o.object)
	if err != nil {
		s.Fatalf("expected the API server to serve the sample's kind; last seen: %v", err)
	}
	o.global = !namespaced
	o.kinds, err = allKinds(s, namespaced)
	must(s, err)
	return o.scope(s)
}

// scope returns the scope in which copies of the sample are created: without a namespace if they have none.
func (o *Sample) scope(s *framework.Scope) *framework.Scope {
	of := *s
	if o.global {
		of.Namespace = ""
	}
	return &of
}

// isCompanion is the annotation of what a sample refers to, which does not belong to the sample.
const isCompanion = "testbed.example.com/companion"

// createCompanions creates what the copies in a namespace refer to, unless it is there.
func (o *Sample) createCompanions(ctx context.Context, s *framework.Scope) {
	for _, companion := range o.companions {
		object := companion.DeepCopy()
		name := object.GetKind() + " " + object.GetName()
		namespaced, err := s.Client.IsObjectNamespaced(object)
		if err != nil {
			s.Fatalf("expected the API server to serve the kind of the companion %s; last seen: %v", name, err)
		}
		switch {
		case namespaced && s.Namespace != "":
			object.SetNamespace(s.Namespace)
		case namespaced && object.GetNamespace() == "":
			s.Fatalf("expected the companion %s to have a namespace, because the sample has none; last seen: none", name)
		}
		annotations := maps.Clone(object.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[isCompanion] = "yes"
		object.SetAnnotations(annotations)
		if err := client.IgnoreAlreadyExists(s.Client.Create(ctx, object)); err != nil {
			s.Fatalf("expected the API server to create the companion %s; last seen: %v", name, err)
		}
	}
}

// narrow waits until all that belongs to a copy is ready, and remembers what kinds that is of, and what the status of the copy says when it
// has not changed for a while. An operator may write a status before it creates anything, so what belongs to the copy is complete only then.
func (o *Sample) narrow(ctx context.Context, s *framework.Scope, object client.Object) {
	o.waitForReady(ctx, s, object)
	o.outcome = o.waitForOutcome(ctx, s, object, func(string) bool { return false })
	belongings := o.waitForReady(ctx, s, object)
	o.owns = kindsOf(owned(belongings, object))
	o.kinds = nil
	for _, found := range append(belongings, *o.object) {
		if kind := found.GroupVersionKind(); !slices.Contains(o.kinds, kind) {
			o.kinds = append(o.kinds, kind)
		}
	}
}

// waitForWork waits until the operator is done with a copy as it is done with the first one: until its status says the same. One that says
// something else is taken as it is when it has not changed for a while.
func (o *Sample) waitForWork(ctx context.Context, s *framework.Scope, object client.Object) {
	o.waitForOutcome(ctx, s, object, func(outcome string) bool { return outcome == o.outcome })
}

// waitForOutcome returns what the status of an object says when that is what is wanted, or has been the same for as many looks as
// [unchangedFor] says. One that never stays the same is taken as it is after some more.
func (o *Sample) waitForOutcome(ctx context.Context, s *framework.Scope, object client.Object, wanted func(outcome string) bool) (outcome string) {
	looks, unchanged := 0, 0
	framework.WaitFor(ctx, s.Patient(healTime), o.object.GetKind()+" "+object.GetName(), func(ctx context.Context) error {
		now := o.object.DeepCopy()
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(object), now); err != nil {
			return err
		}
		before := outcome
		outcome = outcomeOf(now)
		if unchanged++; outcome != before {
			unchanged = 0
		}
		if looks++; wanted(outcome) || unchanged == unchangedFor(s) || looks == 4*unchangedFor(s) {
			return nil
		}
		return fmt.Errorf("expected its status to stay as it is; last seen: %s", cmp.Or(outcome, "nothing"))
	})
	return outcome
}

// outcomeOf describes what the status of an object says, without what differs between objects that are alike: which fields it has, and the
// status and the reason of each condition.
func outcomeOf(object *unstructured.Unstructured) string {
	var texts []string
	describeFields(object.Object["status"], "status", &texts)
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), ", ")
}

// describeFields adds the paths of the single values in a field, and the conditions in it.
func describeFields(value any, path string, texts *[]string) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			describeFields(element, path, texts)
		}
	case map[string]any:
		if value["type"] != nil && value["status"] != nil { // a condition
			text := fmt.Sprintf("%s %v=%v", path, value["type"], value["status"])
			if reason := value["reason"]; reason != nil {
				text += fmt.Sprintf("/%v", reason)
			}
			*texts = append(*texts, text)
			return
		}
		for name, field := range value {
			describeFields(field, path+"."+name, texts)
		}
	case nil:
	default:
		*texts = append(*texts, path)
	}
}

// allKinds returns the kinds that the cluster serves and whose objects can belong to one with or without a namespace, except for events.
func allKinds(s *framework.Scope, namespaced bool) ([]schema.GroupVersionKind, error) {
	served, err := discovery.NewDiscoveryClientForConfigOrDie(s.Config).ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	var kinds []schema.GroupVersionKind
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, served) {
		for _, resource := range list.APIResources {
			if resource.Kind != "Event" && (resource.Namespaced || !namespaced) {
				kinds = append(kinds, schema.FromAPIVersionAndKind(list.GroupVersion, resource.Kind))
			}
		}
	}
	return kinds, nil
}

// belonging returns the objects of the kinds that belong to an object: those that it owns, and that these own, and all others in its
// namespace that somebody has made, except for companions and what belongs to these.
func belonging(ctx context.Context, s *framework.Scope, object client.Object, kinds []schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	var found []unstructured.Unstructured
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := s.Client.List(ctx, list, client.InNamespace(object.GetNamespace())); err != nil {
			return nil, err
		}
		found = append(found, list.Items...)
	}
	owned, beside := map[types.UID]bool{object.GetUID(): true}, map[types.UID]bool{}
	for i := range found {
		if found[i].GetAnnotations()[isCompanion] != "" {
			beside[found[i].GetUID()] = true
		}
	}
	addOwned(owned, found)
	addOwned(beside, found)
	return slices.DeleteFunc(found, func(other unstructured.Unstructured) bool {
		return other.GetUID() == object.GetUID() ||
			!owned[other.GetUID()] && (object.GetNamespace() == "" || beside[other.GetUID()] || isOfTheCluster(other))
	}), nil
}

// addOwned adds those of the objects that an object in the set owns, and those that these own.
func addOwned(set map[types.UID]bool, objects []unstructured.Unstructured) {
	for size := 0; size < len(set); {
		size = len(set)
		for i := range objects {
			if slices.ContainsFunc(objects[i].GetOwnerReferences(), func(r metav1.OwnerReference) bool { return set[r.UID] }) {
				set[objects[i].GetUID()] = true
			}
		}
	}
}

// isOfTheCluster reports whether only the cluster's own parts have written to an object without an owner, such as the ServiceAccount that
// each namespace has, and the volumes of a StatefulSet, which stay when that goes.
func isOfTheCluster(object unstructured.Unstructured) bool {
	return len(object.GetOwnerReferences()) == 0 &&
		!slices.ContainsFunc(object.GetManagedFields(), func(fields metav1.ManagedFieldsEntry) bool { return !strings.HasPrefix(fields.Manager, "kube-") })
}

// owned returns those of the objects that the owner owns itself.
func owned(objects []unstructured.Unstructured, owner client.Object) []unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(object unstructured.Unstructured) bool {
		return !slices.ContainsFunc(object.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() })
	})
}

// isServed reports whether somebody else than its creator has written to an object, or it owns another one.
func isServed(object client.Object, belongings []unstructured.Unstructured) bool {
	return len(object.GetManagedFields()) > 1 || len(owned(belongings, object)) > 0
}

// unchangedFor returns how many looks in a row what belongs to an object may be unchanged and not ready until it is taken as it is: a
// simulated cluster has nothing that would give a volume to a claim, or an address to a load balancer. An operator in a pod may start an
// interpreter before it does anything.
func unchangedFor(s *framework.Scope) int {
	if s.Operator.InPods() {
		return 300
	}
	return 100
}

// waitForReady waits until the operator has written something for an object, and what belongs to it is ready, which it returns. Kinds are
// listed one after another, so a list that comes first may lack what a list that comes last depends on, such as the pods of a Deployment
// that is ready. Only what two looks in a row have seen was there at the same time.
func (o *Sample) waitForReady(ctx context.Context, s *framework.Scope, object client.Object) (belongings []unstructured.Unstructured) {
	unchanged, before := 0, ""
	var seen map[types.UID]bool
	framework.WaitFor(ctx, s, o.object.GetKind()+" "+object.GetName(), func(ctx context.Context) (err error) {
		now := o.object.DeepCopy()
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(object), now); err != nil {
			return err
		}
		if belongings, err = belonging(ctx, s, now, o.kinds); err != nil {
			return err
		}
		if !isServed(now, belongings) {
			return errors.New("expected the operator to write its status, or an object that it owns; last seen: neither")
		}
		waiting, version := notReady(slices.DeleteFunc(append(slices.Clone(belongings), *now), isHeld))
		for _, kind := range without(o.owns, kindsOf(owned(belongings, now))) {
			waiting = append(waiting, "no "+kind)
		}
		if unchanged++; version != before {
			unchanged, before = 0, version
		}
		seenBefore := seen
		seen = uidsOf(belongings)
		if len(waiting) == 0 && seenBefore != nil && maps.Equal(seen, seenBefore) || unchanged == unchangedFor(s) {
			return nil
		}
		return fmt.Errorf("expected all that belongs to it to be ready; last seen: %s", cmp.Or(strings.Join(waiting, ", "), "objects come or go"))
	})
	return belongings
}

func uidsOf(objects []unstructured.Unstructured) map[types.UID]bool {
	uids := map[types.UID]bool{}
	for i := range objects {
		uids[objects[i].GetUID()] = true
	}
	return uids
}

// notReady describes the objects that are not ready, and returns what differs when any of the objects changes.
func notReady(objects []unstructured.Unstructured) (waiting []string, version string) {
	var versions []string
	for i := range objects {
		versions = append(versions, objects[i].GetResourceVersion())
		if result, err := status.Compute(&objects[i]); err == nil && result.Status != status.CurrentStatus {
			waiting = append(waiting, fmt.Sprintf("%s %s: %s", objects[i].GetKind(), objects[i].GetName(), result.Message))
		}
	}
	return waiting, strings.Join(versions, " ")
}

// waitForNothing waits until nothing is left that belongs to an object which is gone.
func waitForNothing(ctx context.Context, s *framework.Scope, object client.Object) {
	kinds, err := allKinds(s, object.GetNamespace() != "")
	must(s, err)
	framework.WaitFor(ctx, s, "what belongs to "+object.GetName(), func(ctx context.Context) error {
		left, err := belonging(ctx, s, object, kinds)
		if err != nil || len(left) == 0 {
			return err
		}
		var names []string
		for i := range left {
			names = append(names, left[i].GetKind()+" "+left[i].GetName())
		}
		return fmt.Errorf("expected it to be gone; last seen: %s", strings.Join(names, ", "))
	})
}
