package lenient

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

func TestMemo(t *testing.T) {
	m, key := &memo{}, client.ObjectKeyFromObject(good)
	version := func(resourceVersion string, size int64) *unstructured.Unstructured {
		object := raw(good.GetName(), map[string]any{"size": size}, nil)
		object.SetResourceVersion(resourceVersion)
		return object
	}
	expectSize := func(object *unstructured.Unstructured, want int32) {
		t.Helper()
		mc, err := m.decode(key, object)
		if err != nil || *mc.Spec.Size != want {
			t.Fatalf("the size is %v (%v), want %d", mc, err, want)
		}
		*mc.Spec.Size = 99 // which must not show in what the memo keeps
	}
	expectSize(version("1", 3), 3)
	expectSize(version("1", 4), 3) // the same version is not decoded again
	expectSize(version("2", 4), 4)
	another := version("2", 5)
	another.SetUID("another")
	expectSize(another, 5)

	undecodable := raw(good.GetName(), map[string]any{"size": "3"}, nil)
	undecodable.SetResourceVersion("3")
	if _, err := m.decode(key, undecodable); !errors.As(err, new(*UndecodableError)) {
		t.Errorf("error = %v, want an UndecodableError", err)
	}
	m.forget(key)
	if len(m.decoded) != 0 {
		t.Error("it is kept although it is gone")
	}
}

func TestReaderForgets(t *testing.T) {
	r := reader(good)
	r.memo = &memo{}
	mc := &cachev1alpha1.Memcached{}
	key := client.ObjectKeyFromObject(good)
	if err := r.Get(t.Context(), key, mc); err != nil || len(r.memo.decoded) != 1 {
		t.Fatalf("%v, and %d are kept, want 1", err, len(r.memo.decoded))
	}
	if err := r.Reader.(client.Client).Delete(t.Context(), good.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if err := r.Get(t.Context(), key, mc); err == nil || len(r.memo.decoded) != 0 {
		t.Errorf("%v, and %d are kept, want none", err, len(r.memo.decoded))
	}
}
