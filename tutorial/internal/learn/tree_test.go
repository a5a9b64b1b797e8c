package learn

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/demo"
)

// objectOf returns an object of the namespace default, with its name as its UID, owned by the objects of these names. The other fields are
// YAML.
func objectOf(t *testing.T, apiVersion, kind, name, fields string, owners ...string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte(fields), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace("default")
	o.SetName(name)
	o.SetUID(types.UID(name))
	var references []metav1.OwnerReference
	for _, owner := range owners {
		references = append(references, metav1.OwnerReference{UID: types.UID(owner), Name: owner, Controller: new(true)})
	}
	o.SetOwnerReferences(references)
	return o
}

// aMemcached is what there is of a Memcached with two of three pods ready, in an order that says nothing.
func aMemcached(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	ready := "spec: {nodeName: node-1}\nstatus: {phase: Running, conditions: [{type: Ready, status: 'True'}]}"
	objects := []*unstructured.Unstructured{
		objectOf(t, "v1", "Pod", "pod-c", "status: {phase: Pending}", "set-new"),
		objectOf(t, "v1", "Pod", "pod-a", ready, "set-new"),
		objectOf(t, "apps/v1", "ReplicaSet", "set-old", "spec: {replicas: 0}", "sample"),
		objectOf(t, "apps/v1", "ReplicaSet", "set-new", "spec: {replicas: 3}\nstatus: {readyReplicas: 2}", "sample"),
		objectOf(t, "v1", "Pod", "pod-b", ready, "set-new"),
		objectOf(t, "apps/v1", "Deployment", "sample", "spec: {replicas: 3}\nstatus: {readyReplicas: 2}", "memcached"),
		objectOf(t, "cache.example.com/v1alpha1", "Memcached", "memcached", `
spec: {size: 3}
status:
  conditions:
  - {type: Available, status: "False", reason: ReplicasNotReady, message: 2 of 3 replicas are ready., lastTransitionTime: "2026-01-02T03:04:05Z"}
  - {type: Degraded, status: "False", reason: AsExpected}`),
	}
	for _, o := range objects {
		if o.GetKind() == "Pod" {
			o.SetLabels(map[string]string{"cache.example.com/memcached-uid": "memcached"})
		}
	}
	return objects
}

// drawn writes a tree with a line for each object.
func drawn(roots []Object, more int) string {
	var out strings.Builder
	var draw func(indent string, objects []Object, more int)
	draw = func(indent string, objects []Object, more int) {
		for _, o := range objects {
			fmt.Fprintf(&out, "%s%s %s: %s (%s)\n", indent, o.Kind, o.Name, o.State, o.Health)
			draw(indent+"  ", o.Children, o.More)
		}
		if more > 0 {
			fmt.Fprintf(&out, "%s%d more\n", indent, more)
		}
	}
	draw("", roots, more)
	return out.String()
}

func TestTree(t *testing.T) {
	g := NewWithT(t)
	roots, more := tree(aMemcached(t), nil)
	g.Expect(drawn(roots, more)).To(Equal(`Memcached memcached: size 3 (progressing)
  Deployment sample: 2/3 ready (progressing)
    ReplicaSet set-new: 2/3 ready (progressing)
      Pod pod-a: Ready on node-1 (good)
      Pod pod-b: Ready on node-1 (good)
      Pod pod-c: Pending (progressing)
`))
	g.Expect(roots[0].Conditions).To(HaveLen(2))
	g.Expect(roots[0].Conditions[0].Since.String()).To(HavePrefix("2026-01-02 03:04:05"))
	g.Expect(roots[0].Conditions[0].Message).To(Equal("2 of 3 replicas are ready."))
}

// Every state that make demo draws of the same objects is in the tree, in the same words.
func TestTreeShowsWhatDemoDraws(t *testing.T) {
	g := NewWithT(t)
	objects := aMemcached(t)
	state := demo.Observe(types.NamespacedName{Namespace: "default", Name: "memcached"}, slices.Values(objects))
	picture, _, _ := strings.Cut(state.Picture(demo.Style{}), "\n\n")
	shown := drawn(tree(objects, nil))
	lines := strings.Split(picture, "\n")
	g.Expect(lines).To(HaveLen(5))
	for _, line := range lines {
		name, words, _ := strings.Cut(strings.TrimLeft(line, " └├─"), "   ")
		g.Expect(shown).To(ContainSubstring(name+": "+strings.TrimSpace(words)+" ("), shown)
	}
}

func TestTreeOfOtherKinds(t *testing.T) {
	g := NewWithT(t)
	flights := columns{schema.GroupKind{Group: "flights.com", Kind: "FlightTicket"}: {
		{"From", ".spec.from"}, {"Booking", ".status.booking"}, {"Reason", `.status.conditions[?(@.type=="Booked")].reason`}, {"Broken", ".spec[["},
	}}
	leaving := objectOf(t, "flights.com/v1", "FlightTicket", "leaving", "")
	leaving.SetDeletionTimestamp(new(metav1.Now()))
	objects := []*unstructured.Unstructured{
		objectOf(t, "apps/v1", "Deployment", "plain", "status: {readyReplicas: 1}"),
		objectOf(t, "flights.com/v1", "FlightTicket", "booked", "spec: {from: Mumbai}\nstatus: {booking: b-1, conditions: [{type: Booked, status: 'True', reason: Ok}]}"),
		objectOf(t, "flights.com/v1", "FlightTicket", "odd", "status: {conditions: 7}"),
		leaving,
		objectOf(t, "v1", "Pod", "foreign", "", "a node"),
		objectOf(t, "v1", "Pod", "bare", "status: {phase: Running, containerStatuses: [{state: {waiting: {reason: CrashLoopBackOff}}}]}"),
		objectOf(t, "v1", "Pod", "its-own-owner", "", "its-own-owner"),
	}
	g.Expect(drawn(tree(objects, flights))).To(Equal(`FlightTicket booked: From Mumbai, Booking b-1, Reason Ok (good)
FlightTicket leaving: being deleted (progressing)
FlightTicket odd:  (none)
Deployment plain: 1/1 ready (good)
Pod bare: CrashLoopBackOff (bad)
`))
	g.Expect(drawn(tree(nil, nil))).To(BeEmpty())
}

// A thousand pods are counted, and not all shown.
func TestTreeIsBounded(t *testing.T) {
	g := NewWithT(t)
	objects := aMemcached(t)
	for i := range 1000 {
		objects = append(objects, objectOf(t, "v1", "Pod", fmt.Sprintf("pod-%04d", i), "status: {phase: Pending}", "set-new"),
			objectOf(t, "v1", "Pod", fmt.Sprintf("bare-%04d", i), "status: {phase: Pending, reason: "+strings.Repeat("x", 5000)+"}"))
	}
	roots, more := tree(objects, nil)
	g.Expect(roots).To(HaveLen(50))
	g.Expect(more).To(Equal(951))
	set := roots[0].Children[0].Children[0]
	g.Expect(set.Children).To(HaveLen(50))
	g.Expect(set.More).To(Equal(953))
	g.Expect(len(roots[1].State)).To(BeNumerically("<=", 1003))
}
