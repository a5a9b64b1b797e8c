package learn

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/example/operator-testbed/e2e/demo"
)

// observed are the kinds that every cluster has of which the page shows objects.
var observed = []schema.GroupVersionResource{
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "apps", Version: "v1", Resource: "replicasets"},
	podsResource,
}

var (
	podsResource   = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	eventsResource = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	crdsResource   = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// ofTheCluster are the namespaces of the cluster's own parts, which are not what a learner works on.
var ofTheCluster = []string{"kube-system", "kube-public", "kube-node-lease", "local-path-storage"}

// mostEvents is how many events are shown.
const mostEvents = 30

// observer watches the objects of a cluster, and keeps their present state.
type observer struct {
	client  dynamic.Interface
	health  func(context.Context) error // whether the API server answers
	changed func()                      // is called after each change, with the lock held, and must not wait

	mu      sync.Mutex
	objects map[types.UID]*unstructured.Unstructured
	events  map[types.UID]*unstructured.Unstructured
	of      columns
	problem string // why nothing is heard of the API server; empty if it answers
	watched map[string]context.CancelFunc
	done    sync.WaitGroup
}

// newObserver returns an observer of a cluster.
func newObserver(config *rest.Config, changed func()) (*observer, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	ready, err := rest.UnversionedRESTClientFor(withoutGroup(config))
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	o := observerWith(client, changed)
	o.health = func(ctx context.Context) error { return ready.Get().AbsPath("/readyz").Do(ctx).Error() }
	return o, nil
}

func withoutGroup(config *rest.Config) *rest.Config {
	config = dynamic.ConfigFor(config)
	config.GroupVersion = &schema.GroupVersion{}
	return config
}

func observerWith(client dynamic.Interface, changed func()) *observer {
	return &observer{
		client: client, changed: changed, of: columns{}, watched: map[string]context.CancelFunc{},
		objects: map[types.UID]*unstructured.Unstructured{}, events: map[types.UID]*unstructured.Unstructured{},
		health: func(context.Context) error { return nil },
	}
}

// run watches until ctx ends.
func (o *observer) run(ctx context.Context) {
	for _, resource := range observed {
		o.watch(ctx, resource, ofLearners, o.put, o.remove)
	}
	o.watch(ctx, eventsResource, ofLearners,
		func(e *unstructured.Unstructured) { o.events[e.GetUID()] = e }, func(e *unstructured.Unstructured) { delete(o.events, e.GetUID()) })
	o.watch(ctx, crdsResource, nil, func(crd *unstructured.Unstructured) { o.define(ctx, crd) }, o.undefine)
	<-ctx.Done()
	o.done.Wait()
}

func (o *observer) put(object *unstructured.Unstructured)    { o.objects[object.GetUID()] = object }
func (o *observer) remove(object *unstructured.Unstructured) { delete(o.objects, object.GetUID()) }

// watch has put and remove called for each change of the objects of a resource, with the lock held, until ctx ends. A nil only leaves out
// none of them.
func (o *observer) watch(ctx context.Context, resource schema.GroupVersionResource, only dynamicinformer.TweakListOptionsFunc, put, remove func(*unstructured.Unstructured)) {
	informer := dynamicinformer.NewFilteredDynamicInformer(o.client, resource, metav1.NamespaceAll, 0, cache.Indexers{}, only).Informer()
	call := func(do func(*unstructured.Unstructured), object any) {
		if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = last.Obj
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if u, ok := object.(*unstructured.Unstructured); ok && ctx.Err() == nil { // nobody watches after that
			do(u)
			o.changed()
		}
	}
	// These fail only for an informer that runs.
	_ = informer.SetTransform(func(object any) (any, error) {
		if u, ok := object.(*unstructured.Unstructured); ok {
			u.SetManagedFields(nil)
		}
		return object, nil
	})
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) { o.failed(ctx, err) })
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { call(put, object) },
		UpdateFunc: func(_, object any) { call(put, object) },
		DeleteFunc: func(object any) { call(remove, object) },
	})
	o.done.Go(func() { informer.RunWithContext(ctx) })
}

// ofLearners leaves out the namespaces of the cluster's own parts.
func ofLearners(o *metav1.ListOptions) {
	o.FieldSelector = "metadata.namespace!=" + strings.Join(ofTheCluster, ",metadata.namespace!=")
}

// ask is the pause after which an API server that has not answered is asked whether it does. There is nothing to watch.
const ask = 500 * time.Millisecond

// failed notes that a watch has ended with an error, until the API server answers again. A watch that ends for another reason is begun
// again.
func (o *observer) failed(ctx context.Context, err error) {
	if o.health(ctx) == nil || ctx.Err() != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.problem != "" {
		return
	}
	o.problem = "the API server does not answer: " + short(err.Error())
	o.changed()
	o.done.Go(func() {
		for o.health(ctx) != nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(ask):
			}
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.problem = ""
		o.changed()
	})
}

// define watches the objects of a CustomResourceDefinition, once they are served.
func (o *observer) define(ctx context.Context, crd *unstructured.Unstructured) {
	d := definitionOf(crd)
	o.of[d.kind] = d.columns
	if o.watched[crd.GetName()] != nil || !d.established {
		return
	}
	watching, stop := context.WithCancel(ctx)
	o.watched[crd.GetName()] = stop
	var only dynamicinformer.TweakListOptionsFunc
	if d.namespaced {
		only = ofLearners
	}
	o.watch(watching, d.resource, only, o.put, o.remove)
}

// undefine forgets them.
func (o *observer) undefine(crd *unstructured.Unstructured) {
	if stop := o.watched[crd.GetName()]; stop != nil {
		stop()
		delete(o.watched, crd.GetName())
	}
	kind := definitionOf(crd).kind
	for uid, object := range o.objects {
		if object.GroupVersionKind().GroupKind() == kind {
			delete(o.objects, uid)
		}
	}
}

// definition is what a CustomResourceDefinition says.
type definition struct {
	kind        schema.GroupKind
	resource    schema.GroupVersionResource
	columns     []column
	namespaced  bool
	established bool
}

func definitionOf(crd *unstructured.Unstructured) definition {
	said := demo.Typed[apiextensionsv1.CustomResourceDefinition](crd)
	d := definition{
		kind:        schema.GroupKind{Group: said.Spec.Group, Kind: said.Spec.Names.Kind},
		namespaced:  said.Spec.Scope == apiextensionsv1.NamespaceScoped,
		established: apihelpers.IsCRDConditionTrue(said, apiextensionsv1.Established),
	}
	for _, version := range said.Spec.Versions {
		if !version.Served {
			continue
		}
		d.resource = schema.GroupVersionResource{Group: said.Spec.Group, Version: version.Name, Resource: said.Spec.Names.Plural}
		d.columns = nil
		for _, c := range version.AdditionalPrinterColumns {
			if c.Type != "date" {
				d.columns = append(d.columns, column{c.Name, c.JSONPath})
			}
		}
	}
	return d
}

// snapshot returns what the observer knows now.
func (o *observer) snapshot() (roots []Object, more int, events []Event, problem string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	objects := make([]*unstructured.Unstructured, 0, len(o.objects))
	for _, object := range o.objects {
		objects = append(objects, object)
	}
	roots, more = tree(objects, o.of)
	return roots, more, newest(o.events), o.problem
}

// newest returns the newest events, the newest first.
func newest(all map[types.UID]*unstructured.Unstructured) []Event {
	events := make([]Event, 0, len(all))
	for _, e := range all {
		if e := demo.Typed[corev1.Event](e); e.InvolvedObject.Kind != "Node" { // they are the cluster's
			events = append(events, eventOf(e))
		}
	}
	slices.SortFunc(events, func(a, b Event) int {
		if later := b.At.Compare(a.At); later != 0 {
			return later
		}
		return strings.Compare(a.Object+a.Reason+a.Message, b.Object+b.Reason+b.Message)
	})
	return events[:min(len(events), mostEvents)]
}

// eventOf returns an event as the page shows it. Which of its times and counts it has depends on the API that it was written with.
func eventOf(e *corev1.Event) Event {
	at, count := e.LastTimestamp.Time, int(e.Count)
	if at.IsZero() {
		at = e.EventTime.Time
	}
	if at.IsZero() {
		at = e.CreationTimestamp.Time
	}
	if e.Series != nil {
		at, count = e.Series.LastObservedTime.Time, int(e.Series.Count)
	}
	return Event{
		At: at.UTC(), Type: e.Type, Reason: short(e.Reason), Object: short(e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name),
		Message: short(e.Message), Count: max(1, count),
	}
}

// simulateAnnotation has simulated kubelets play a failure of a pod.
const simulateAnnotation = "testbed.example.com/simulate"

// pods returns how many pods were last seen, and how many of them play a failure.
func (o *observer) pods() (all, failing int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, object := range o.objects {
		if object.GetKind() == "Pod" {
			all++
			if object.GetAnnotations()[simulateAnnotation] != "" {
				failing++
			}
		}
	}
	return all, failing
}

// simulate has all pods play a failure, or, with nil, those that play one run again, and returns how many do. It asks the API server which
// pods there are: what was last seen may be older than a failure that simulate itself has asked for.
func (o *observer) simulate(ctx context.Context, failure any) (count int, err error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{simulateAnnotation: failure}}})
	if err != nil {
		return 0, err
	}
	var options metav1.ListOptions
	ofLearners(&options)
	pods, err := o.client.Resource(podsResource).List(ctx, options)
	if err != nil {
		return 0, fmt.Errorf("list the pods: %w", err)
	}
	for _, pod := range pods.Items {
		if failure == nil && pod.GetAnnotations()[simulateAnnotation] == "" {
			continue
		}
		_, err := o.client.Resource(podsResource).Namespace(pod.GetNamespace()).Patch(ctx, pod.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
		switch {
		case apierrors.IsNotFound(err): // it is gone
		case err != nil:
			return count, fmt.Errorf("annotate the pod %s: %w", pod.GetName(), err)
		default:
			count++
		}
	}
	return count, nil
}
