package framework

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

var errAbsent = errors.New("expected it to exist; last seen: it does not")

// Object waits until the object of obj's type, namespace and name exists and matches, and fills obj with it.
//
//	e.Object(ctx, memcached, HaveField("Status.Nodes", HaveLen(3)))
func (e *Expecter) Object(ctx context.Context, obj client.Object, matcher types.GomegaMatcher) {
	e.t.Helper()
	gvk := e.kindOf(obj)
	key := client.ObjectKeyFromObject(obj)
	var found client.Object
	e.settle(ctx, subject(gvk, key), e.listOf(gvk), watch.Named(key), func(objects []client.Object) error {
		if len(objects) == 0 {
			return errAbsent
		}
		found = objects[0]
		return match(found, matcher)
	})
	assign(e.t, found, obj)
}

// Gone waits until no object of these types, namespaces and names exists.
func (e *Expecter) Gone(ctx context.Context, objs ...client.Object) {
	e.t.Helper()
	for _, obj := range objs {
		gvk := e.kindOf(obj)
		key := client.ObjectKeyFromObject(obj)
		e.settle(ctx, subject(gvk, key), e.listOf(gvk), watch.Named(key), noneLeft)
	}
}

// NoneLeft waits until the list is empty.
//
//	e.NoneLeft(ctx, &corev1.PodList{}, client.InNamespace(ns))
func (e *Expecter) NoneLeft(ctx context.Context, list client.ObjectList, opts ...client.ListOption) {
	e.t.Helper()
	e.settle(ctx, describeList(list, opts), list, opts, noneLeft)
}

// Objects waits until the listed objects, sorted by namespace and name, match as a []client.Object.
//
//	e.Objects(ctx, &corev1.PodList{}, HaveLen(3), client.InNamespace(ns))
func (e *Expecter) Objects(ctx context.Context, list client.ObjectList, matcher types.GomegaMatcher, opts ...client.ListOption) {
	e.t.Helper()
	e.settle(ctx, describeList(list, opts), list, opts, func(objects []client.Object) error {
		return match(objects, matcher)
	})
}

func noneLeft(objects []client.Object) error {
	if len(objects) == 0 {
		return nil
	}
	var left []string
	for _, object := range objects {
		left = append(left, fmt.Sprintf("%s (deletionTimestamp %v, finalizers %v)",
			client.ObjectKeyFromObject(object), object.GetDeletionTimestamp(), object.GetFinalizers()))
	}
	return fmt.Errorf("expected it to be gone; last seen: %s", strings.Join(left, ", "))
}

// match says what the matcher misses in actual, in gomega's words.
func match(actual any, matcher types.GomegaMatcher) error {
	ok, err := matcher.Match(actual)
	switch {
	case err != nil:
		return err
	case !ok:
		return errors.New(matcher.FailureMessage(actual))
	default:
		return nil
	}
}

// listOf returns an empty list of the kind: typed where the scheme has one, so that matchers see typed objects.
func (e *Expecter) listOf(gvk schema.GroupVersionKind) client.ObjectList {
	if list, err := e.client.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List")); err == nil {
		if typed, ok := list.(client.ObjectList); ok {
			return typed
		}
	}
	return watch.ListOf(gvk)
}

func describeList(list client.ObjectList, opts []client.ListOption) string {
	var o client.ListOptions
	o.ApplyOptions(opts)
	what := strings.TrimPrefix(fmt.Sprintf("%T", list), "*")
	if kind := list.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		what = kind
	}
	if o.Namespace != "" {
		what += " in " + o.Namespace
	}
	if o.LabelSelector != nil && !o.LabelSelector.Empty() {
		what += " with " + o.LabelSelector.String()
	}
	return what
}

// assign copies found into obj, which has its type or is unstructured.
func assign(t T, found, obj client.Object) {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(found)
	if err == nil {
		if u, ok := obj.(*unstructured.Unstructured); ok {
			u.Object = content
			return
		}
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(content, obj)
	}
	if err != nil {
		t.Fatalf("reading %T into %T: %v", found, obj, err)
	}
}
