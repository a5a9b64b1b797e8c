package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/15-versions/api/v1alpha1"
	cachev1beta1 "github.com/example/operator-testbed/tutorial/15-versions/api/v1beta1"
)

const (
	oldVersion = "v1alpha1"
	newVersion = "v1beta1"
	resource   = "memcacheds"
)

// definition returns the CustomResourceDefinition as it is.
func definition(ctx context.Context, s *framework.Scope) *apiextensionsv1.CustomResourceDefinition {
	s.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: resource + "." + cachev1beta1.GroupVersion.Group}}
	if err := s.Client.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
		s.Fatal(err)
	}
	return crd
}

// versionEdit changes one version of a CustomResourceDefinition.
type versionEdit func(*apiextensionsv1.CustomResourceDefinitionVersion)

// storedAs makes a version the one that objects are stored in.
func storedAs(name string) versionEdit {
	return func(v *apiextensionsv1.CustomResourceDefinitionVersion) { v.Storage = v.Name == name }
}

// newOnly stops serving the old version.
func newOnly(v *apiextensionsv1.CustomResourceDefinitionVersion) { v.Served = v.Name == newVersion }

// define changes each version of the CustomResourceDefinition, and returns when the API server works by it.
func define(ctx context.Context, s *framework.Scope, edit versionEdit) {
	s.Helper()
	crd := definition(ctx, s)
	for i := range crd.Spec.Versions {
		edit(&crd.Spec.Versions[i])
	}
	replace(ctx, s, crd.Spec)
}

// replace gives the CustomResourceDefinition another spec, and returns when the API server works by it.
func replace(ctx context.Context, s *framework.Scope, spec apiextensionsv1.CustomResourceDefinitionSpec) {
	s.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&apiextensionsv1.CustomResourceDefinition{Spec: spec})
	if err != nil {
		s.Fatal(err)
	}
	crd := &unstructured.Unstructured{Object: map[string]any{"spec": content["spec"]}}
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	crd.SetName(resource + "." + cachev1beta1.GroupVersion.Group)
	if err := install.CRDs(ctx, s.Config, manifest.New(crd)); err != nil {
		s.Fatal(err)
	}
}

// own is the setup of a feature that changes the CustomResourceDefinition. At its end, the definition is as at first. The operator goes on:
// it uses the new version, which stays.
func own(ctx context.Context, s *framework.Scope) {
	ready(ctx, s)
	before := definition(ctx, s).Spec
	s.Cleanup(func() { replace(context.WithoutCancel(ctx), s, before) })
}

// storedVersions returns the versions that objects may be stored in.
func storedVersions(ctx context.Context, s *framework.Scope) []string {
	s.Helper()
	return definition(ctx, s).Status.StoredVersions
}

// verifyStored asserts in which version etcd holds the Memcacheds of the namespace, on a cluster whose etcd can be read.
func verifyStored(ctx context.Context, s *framework.Scope, want string, mcs ...client.Object) {
	s.Helper()
	if s.Cluster.Stored == nil {
		return
	}
	values, err := s.Cluster.Stored(ctx, cachev1beta1.GroupVersion.Group+"/"+resource)
	if err != nil {
		s.Fatal(err)
	}
	for _, mc := range mcs {
		var stored metav1.TypeMeta
		if err := json.Unmarshal(values[mc.GetNamespace()+"/"+mc.GetName()], &stored); err != nil {
			s.Fatalf("reading %s from etcd: %v", mc.GetName(), err)
		}
		NewWithT(s).Expect(strings.TrimPrefix(stored.APIVersion, cachev1beta1.GroupVersion.Group+"/")).To(Equal(want),
			"expected %s to be stored as %s", mc.GetName(), want)
	}
}

// migrate has all Memcacheds stored in the current storage version, and no other version in the status of the definition.
func migrate(ctx context.Context, s *framework.Scope) {
	s.Helper()
	migration := &storagemigrationv1.StorageVersionMigration{
		ObjectMeta: metav1.ObjectMeta{Name: s.NewName("memcacheds")},
		Spec:       storagemigrationv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Group: cachev1beta1.GroupVersion.Group, Resource: resource}},
	}
	err := s.Client.Create(ctx, migration)
	if meta.IsNoMatchError(err) { // before Kubernetes 1.37
		rewrite(ctx, s)
		return
	}
	if err != nil {
		s.Fatal(err)
	}
	// The controller begins when the garbage collector's cache has an event that is younger than the migration, such as this one.
	framework.WaitForObject(ctx, s, migration, HaveField("Status.ResourceVersion", Not(BeEmpty())))
	createNew(ctx, s)
	// Until then, it tries again: later each time, but at once when the migration has changed. It can't finish while that changes, so the
	// pauses grow.
	next, pause := time.Now(), 100*time.Millisecond
	framework.WaitFor(ctx, s.Patient(2*framework.Converge), "the migration "+migration.Name, func(ctx context.Context) error {
		err := s.Client.Get(ctx, client.ObjectKeyFromObject(migration), migration)
		if err != nil || meta.IsStatusConditionTrue(migration.Status.Conditions, string(storagemigrationv1.MigrationSucceeded)) {
			return err
		}
		if time.Now().After(next) {
			next, pause = time.Now().Add(pause), min(2*pause, 2*time.Second)
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"seen":%q}}}`, migration.ResourceVersion)
			if err := s.Client.Patch(ctx, migration, client.RawPatch(types.MergePatchType, patch)); err != nil {
				return err
			}
		}
		return fmt.Errorf("expected Succeeded; last seen: %+v", migration.Status.Conditions)
	})
	framework.WaitForObject(ctx, s, definition(ctx, s), HaveField("Status.StoredVersions", HaveLen(1)))
	if err := s.Client.Delete(ctx, migration); err != nil {
		s.Fatal(err)
	}
}

// rewrite does what migrate does by hand: the API server stores what it writes in the storage version, even if nothing else changes.
func rewrite(ctx context.Context, s *framework.Scope) {
	s.Helper()
	all := &cachev1beta1.MemcachedList{}
	err := s.Client.List(ctx, all)
	for i := range all.Items {
		err = errors.Join(err, client.IgnoreNotFound(s.Client.Patch(ctx, &all.Items[i], client.RawPatch(types.MergePatchType, []byte("{}")))))
	}
	crd := definition(ctx, s)
	at := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	patch := fmt.Appendf(nil, `{"status":{"storedVersions":[%q]}}`, crd.Spec.Versions[at].Name)
	if err := errors.Join(err, s.Client.Status().Patch(ctx, crd, client.RawPatch(types.MergePatchType, patch))); err != nil {
		s.Fatal(err)
	}
}

// verifyRemoval asserts whether the API server would take a definition without a version. It does not do it.
func verifyRemoval(ctx context.Context, s *framework.Scope, name string, allowed bool) {
	s.Helper()
	// The API server's own controllers update the status of the definition.
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		crd := definition(ctx, s)
		crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name })
		return s.Client.Update(ctx, crd, client.DryRunAll)
	})
	if allowed {
		NewWithT(s).Expect(err).NotTo(HaveOccurred(), "expected that %s may be removed", name)
		return
	}
	NewWithT(s).Expect(err).To(MatchError(ContainSubstring("status.storedVersions")), "expected that %s may not be removed", name)
}

// apply applies a label to a Memcached in the new version, by server-side apply.
func apply(ctx context.Context, s *framework.Scope, mc client.Object) error {
	labeled := &unstructured.Unstructured{}
	labeled.SetGroupVersionKind(cachev1beta1.GroupVersion.WithKind("Memcached"))
	labeled.SetNamespace(mc.GetNamespace())
	labeled.SetName(mc.GetName())
	labeled.SetLabels(map[string]string{"applied": "yes"})
	return s.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(labeled), client.FieldOwner("another"))
}

func TestMigration(t *testing.T) {
	var p pair
	var spec cachev1beta1.MemcachedSpec
	var generation int64
	stage.Feature("migration").
		Setup(own).
		Setup(func(ctx context.Context, s *framework.Scope) {
			NewWithT(s).Expect(definition(ctx, s).Spec.Versions).To(ContainElement(And(HaveField("Name", newVersion), HaveField("Storage", true))),
				"expected the manifests to store objects as v1beta1")
			define(ctx, s, storedAs(oldVersion)) // as in the release before
			p = both(ctx, s)
			settled(ctx, s, p.older, *p.older.Spec.Size)
			settled(ctx, s, p.newer, *p.newer.Spec.Replicas)
			quiet(ctx, s) // a write would store an object in the other version
			verifyStored(ctx, s, oldVersion, p.older, p.newer)
			spec = asNew(ctx, s, p.newer).Spec
			deployment := deploymentOf(p.newer)
			framework.WaitForObject(ctx, s, deployment, Not(BeNil()))
			generation = deployment.Generation
		}).
		Assess("another storage version changes nothing that is stored", func(ctx context.Context, s *framework.Scope) {
			define(ctx, s, storedAs(newVersion))
			verifyStored(ctx, s, oldVersion, p.older, p.newer)
			NewWithT(s).Expect(storedVersions(ctx, s)).To(ContainElements(oldVersion, newVersion))
			verifyRemoval(ctx, s, oldVersion, false)
		}).
		Assess("leaves nothing in the old version, and the objects as they were", func(ctx context.Context, s *framework.Scope) {
			migrate(ctx, s)
			verifyStored(ctx, s, newVersion, p.older, p.newer)
			NewWithT(s).Expect(storedVersions(ctx, s)).To(Equal([]string{newVersion}))
			verifyRemoval(ctx, s, oldVersion, true)
			NewWithT(s).Expect(asNew(ctx, s, p.newer).Spec).To(Equal(spec))
			NewWithT(s).Expect(asOld(ctx, s, p.older).Spec).To(Equal(p.older.Spec))
			deployment := deploymentOf(p.newer)
			framework.WaitForObject(ctx, s, deployment, HaveField("Generation", generation))
		}).
		Assess("a version that is no longer served is gone for its clients, and its objects stay", func(ctx context.Context, s *framework.Scope) {
			define(ctx, s, newOnly)
			err := s.Client.Get(ctx, client.ObjectKeyFromObject(p.older), &cachev1alpha1.Memcached{})
			NewWithT(s).Expect(apierrors.IsNotFound(err) || meta.IsNoMatchError(err)).To(BeTrue(), "expected that v1alpha1 is not served; last seen: %v", err)
			NewWithT(s).Expect(asNew(ctx, s, p.older).Spec.Replicas).To(Equal(p.older.Spec.Size))
		}).
		Assess("a version that is removed blocks server-side apply where an old client owns fields, until that is forgotten", func(ctx context.Context, s *framework.Scope) {
			removed := definition(ctx, s).Spec
			removed.Versions = slices.DeleteFunc(removed.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == oldVersion })
			replace(ctx, s, removed)
			g := NewWithT(s)
			g.Expect(apply(ctx, s, p.newer)).To(Succeed())
			g.Expect(apply(ctx, s, p.older)).To(MatchError(ContainSubstring("invalid group/version: " + cachev1alpha1.GroupVersion.String())))
			forget := client.RawPatch(types.JSONPatchType, []byte(`[{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]`))
			g.Expect(s.Client.Patch(ctx, asNew(ctx, s, p.older), forget)).To(Succeed())
			g.Expect(apply(ctx, s, p.older)).To(Succeed())
		}).
		TestAlone(t)
}

func TestRollback(t *testing.T) {
	var mc *cachev1beta1.Memcached
	stage.Feature("the way back").
		Setup(own).
		Setup(func(ctx context.Context, s *framework.Scope) {
			mc = createNew(ctx, s)
			settled(ctx, s, mc, *mc.Spec.Replicas)
			verifyStored(ctx, s, newVersion, mc)
		}).
		Assess("is closed for a release that does not know the new version", func(ctx context.Context, s *framework.Scope) {
			define(ctx, s, storedAs(oldVersion))
			verifyRemoval(ctx, s, newVersion, false)
		}).
		Assess("is open after a migration back, and loses nothing", func(ctx context.Context, s *framework.Scope) {
			rewrite(ctx, s)
			verifyStored(ctx, s, oldVersion, mc)
			verifyRemoval(ctx, s, newVersion, true)
			NewWithT(s).Expect(asNew(ctx, s, mc).Spec).To(Equal(mc.Spec), "expected the new object to be the same after the way back")
			define(ctx, s, storedAs(newVersion))
			rewrite(ctx, s)
			verifyStored(ctx, s, newVersion, mc)
			NewWithT(s).Expect(asNew(ctx, s, mc).Spec).To(Equal(mc.Spec), "expected the new object to be the same after the way back and forth")
		}).
		TestAlone(t)
}

func TestWebhookDown(t *testing.T) {
	const failed = "conversion webhook for cache.example.com/"
	var p pair
	var late, doomed *cachev1alpha1.Memcached
	stage.Feature("without the conversion webhook").
		Setup(own).
		Setup(func(ctx context.Context, s *framework.Scope) {
			p = both(ctx, s)
			settled(ctx, s, p.newer, *p.newer.Spec.Replicas)
			settled(ctx, s, p.older, *p.older.Spec.Size)
			if err := s.Operator.Kill(ctx); err != nil {
				s.Fatal(err)
			}
			// While the old version is the storage version, its clients need no conversion.
			define(ctx, s, storedAs(oldVersion))
			late, doomed = createOld(ctx, s, s.Port()), createOld(ctx, s, s.Port())
			define(ctx, s, storedAs(newVersion))
			verifyStored(ctx, s, oldVersion, late)
		}).
		Assess("the storage version works", func(ctx context.Context, s *framework.Scope) {
			g := NewWithT(s)
			changed := asNew(ctx, s, p.newer)
			changed.Spec.Replicas = new(s.Size(3, 5))
			g.Expect(s.Client.Update(ctx, changed)).To(Succeed())
			g.Expect(asNew(ctx, s, p.older).Spec.Replicas).To(Equal(p.older.Spec.Size), "expected an object of an old client to be stored in the new version")
			g.Expect(s.Client.Delete(ctx, createNew(ctx, s))).To(Succeed())
		}).
		Assess("the old version fails", func(ctx context.Context, s *framework.Scope) {
			g := NewWithT(s)
			for _, mc := range []client.Object{p.older, p.newer} {
				err := s.Client.Get(ctx, client.ObjectKeyFromObject(mc), &cachev1alpha1.Memcached{})
				g.Expect(err).To(MatchError(ContainSubstring(failed)))
			}
		}).
		Assess("a server-side apply fails where an old client owns fields", func(ctx context.Context, s *framework.Scope) {
			NewWithT(s).Expect(apply(ctx, s, p.newer)).To(Succeed())
			NewWithT(s).Expect(apply(ctx, s, p.older)).To(MatchError(ContainSubstring(failed)))
		}).
		Assess("an object that is stored in the old version can't be read, changed or deleted in the new one", func(ctx context.Context, s *framework.Scope) {
			stuck := &cachev1beta1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: late.Namespace, Name: late.Name}}
			for _, err := range []error{
				s.Client.Get(ctx, client.ObjectKeyFromObject(late), stuck.DeepCopy()),
				s.Client.Patch(ctx, stuck.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"changed":"yes"}}}`))),
				s.Client.Delete(ctx, stuck.DeepCopy()),
				s.Client.List(ctx, &cachev1beta1.MemcachedList{}, client.InNamespace(s.Namespace), client.Limit(500)), // as kubectl does
			} {
				NewWithT(s).Expect(err).To(MatchError(ContainSubstring(failed)))
			}
		}).
		Assess("it can be read and deleted in the old one, but not changed", func(ctx context.Context, s *framework.Scope) {
			g := NewWithT(s)
			stuck := asOld(ctx, s, late)
			g.Expect(stuck.Spec).To(Equal(late.Spec))
			stuck.Spec.Size = new(s.Size(3, 5))
			g.Expect(s.Client.Update(ctx, stuck)).To(MatchError(ContainSubstring(failed)), "expected that a write needs a conversion to the storage version")
			g.Expect(s.Client.Delete(ctx, doomed)).To(Succeed())
		}).
		Assess("the operator comes back on its own", func(ctx context.Context, s *framework.Scope) {
			if err := s.Operator.Restart(ctx); err != nil {
				s.Fatal(err)
			}
			changed := asNew(ctx, s, p.newer)
			settled(ctx, s, changed, *changed.Spec.Replicas)
			settled(ctx, s, late, *late.Spec.Size)
		}).
		TestAlone(t)
}
