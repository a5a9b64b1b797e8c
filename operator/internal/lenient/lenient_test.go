package lenient

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

var memcachedKind = cachev1alpha1.GroupVersion.WithKind("Memcached")

// raw returns a Memcached with that spec and status.
func raw(name string, spec, status map[string]any) *unstructured.Unstructured {
	object := newRaw()
	object.SetNamespace("team")
	object.SetName(name)
	object.SetUID("uid")
	object.Object["spec"] = spec
	object.Object["status"] = status
	return object
}

var (
	good = raw("good", map[string]any{"size": int64(3)}, map[string]any{"conditions": []any{
		map[string]any{"type": "Available", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"},
	}})
	badTime = raw("bad-time", nil, map[string]any{"conditions": []any{
		map[string]any{"type": "Available", "status": "True", "lastTransitionTime": "2024-01-01t00:00:00z"},
	}})
	badSize = raw("bad-size", map[string]any{"size": "3"}, nil)
)

// reader returns a Reader of these objects. Memcacheds have any content, as they have in the API server.
func reader(objects ...client.Object) Reader {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(memcachedKind, &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(cachev1alpha1.GroupVersion.WithKind("MemcachedList"), &unstructured.UnstructuredList{})
	_ = appsv1.AddToScheme(scheme)
	return Reader{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()}
}

func TestDecode(t *testing.T) {
	mc, err := Decode(good)
	if err != nil || mc.Name != "good" || *mc.Spec.Size != 3 || len(mc.Status.Conditions) != 1 {
		t.Errorf("got %+v, %v", mc, err)
	}
	for bad, text := range map[*unstructured.Unstructured]string{
		badTime: "2024-01-01t00:00:00z",
		badSize: "size",
	} {
		_, err := Decode(bad)
		undecodable := new(UndecodableError)
		if !errors.As(err, &undecodable) || undecodable.Object.Name != bad.GetName() || undecodable.Object.Namespace != "team" || undecodable.Object.UID != "uid" {
			t.Errorf("error = %v of %+v, want an UndecodableError of team/%s", err, undecodable.Object, bad.GetName())
		}
		if prefix := "the Memcached team/" + bad.GetName() + " can't be decoded: "; !strings.HasPrefix(err.Error(), prefix) || !strings.Contains(err.Error(), text) {
			t.Errorf("error = %v, want %q and %q in it", err, prefix, text)
		}
		if !IsUndecodable(bad) {
			t.Errorf("%s counts as decodable", bad.GetName())
		}
	}
	if IsUndecodable(good) || IsUndecodable(mc) {
		t.Error("one that can be decoded counts as undecodable")
	}
}

func TestReader(t *testing.T) {
	r := reader(good, badTime, badSize, &appsv1.Deployment{})
	mc := &cachev1alpha1.Memcached{}
	if err := r.Get(t.Context(), client.ObjectKeyFromObject(good), mc); err != nil || *mc.Spec.Size != 3 {
		t.Errorf("got %+v, %v", mc, err)
	}
	if err := r.Get(t.Context(), client.ObjectKeyFromObject(badTime), mc); !errors.As(err, new(*UndecodableError)) {
		t.Errorf("error = %v, want an UndecodableError", err)
	}
	if err := r.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "gone"}, mc); !apierrors.IsNotFound(err) {
		t.Errorf("error = %v, want NotFound", err)
	}

	list := &cachev1alpha1.MemcachedList{Items: []cachev1alpha1.Memcached{{}}}
	if err := r.List(t.Context(), list, client.InNamespace("team")); err != nil || len(list.Items) != 1 || list.Items[0].Name != "good" {
		t.Errorf("list = %+v, %v; want the good one", list.Items, err)
	}
	if err := r.List(t.Context(), list, client.InNamespace("other")); err != nil || len(list.Items) != 0 {
		t.Errorf("list = %+v, %v; want none of another namespace", list.Items, err)
	}
	var seen []string
	if err := r.ListEach(t.Context(), func(mc *cachev1alpha1.Memcached, err error) {
		if undecodable := new(UndecodableError); errors.As(err, &undecodable) {
			seen = append(seen, "undecodable "+undecodable.Object.Name)
		} else {
			seen = append(seen, mc.Name)
		}
	}); err != nil {
		t.Error(err)
	}
	slices.Sort(seen)
	if diff := cmp.Diff([]string{"good", "undecodable bad-size", "undecodable bad-time"}, seen); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}

	// It is an ordinary reader of everything else.
	deployments := &appsv1.DeploymentList{}
	if err := r.List(t.Context(), deployments); err != nil || len(deployments.Items) != 1 {
		t.Errorf("%d Deployments, %v", len(deployments.Items), err)
	}
	if err := r.Get(t.Context(), client.ObjectKey{}, &appsv1.Deployment{}); err != nil {
		t.Error(err)
	}
}

// askedCache records the types that it is asked for.
type askedCache struct {
	cache.Cache
	asked []string
}

func (c *askedCache) record(object client.Object) {
	kind := "typed"
	if _, ok := object.(*unstructured.Unstructured); ok {
		kind = "raw " + object.GetObjectKind().GroupVersionKind().Kind
	}
	c.asked = append(c.asked, kind)
}

func (c *askedCache) GetInformer(_ context.Context, object client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	c.record(object)
	return nil, nil
}

func (c *askedCache) GetInformerForKind(context.Context, schema.GroupVersionKind, ...cache.InformerGetOption) (cache.Informer, error) {
	c.asked = append(c.asked, "typed")
	return nil, nil
}

func (c *askedCache) RemoveInformer(_ context.Context, object client.Object) error {
	c.record(object)
	return nil
}

func (c *askedCache) IndexField(_ context.Context, object client.Object, _ string, _ client.IndexerFunc) error {
	c.record(object)
	return nil
}

// Every informer of Memcacheds is one that any content fits, so that a single one can't stop it.
func TestCacheHasNoTypedInformerOfMemcacheds(t *testing.T) {
	for _, test := range []struct {
		object client.Object
		kind   schema.GroupVersionKind
		want   string
	}{
		{&cachev1alpha1.Memcached{}, memcachedKind, "raw Memcached"},
		{&appsv1.Deployment{}, appsv1.SchemeGroupVersion.WithKind("Deployment"), "typed"},
	} {
		asked := &askedCache{}
		c := &lenientCache{Cache: asked}
		_, errs := c.GetInformer(t.Context(), test.object)
		_, errKind := c.GetInformerForKind(t.Context(), test.kind)
		if err := errors.Join(errs, errKind, c.RemoveInformer(t.Context(), test.object), c.IndexField(t.Context(), test.object, "field", nil)); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{test.want, test.want, test.want, test.want}, asked.asked); diff != "" {
			t.Errorf("%s: asked for (-want +got):\n%s", test.kind.Kind, diff)
		}
	}
}
