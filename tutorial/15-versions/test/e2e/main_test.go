// Package e2e is the suite of this chapter: what its operator does, asserted on a real API server.
package e2e

import (
	"context"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/15-versions/api/v1alpha1"
	cachev1beta1 "github.com/example/operator-testbed/tutorial/15-versions/api/v1beta1"
)

var stage = framework.New(framework.Options{
	Name:          "15-versions",
	AddToScheme:   []func(*runtime.Scheme) error{cachev1alpha1.AddToScheme, cachev1beta1.AddToScheme, apiextensionsv1.AddToScheme},
	CRDs:          []string{"../../config/crd/bases"},
	Package:       "../../cmd",
	Kustomization: "../../config/default",
	Operand:       framework.Operand{Variable: "MEMCACHED_IMAGE", Image: "docker.io/library/memcached:1.6.39-alpine"},
	Record: []schema.GroupVersionKind{
		cachev1beta1.GroupVersion.WithKind("Memcached"),
		appsv1.SchemeGroupVersion.WithKind("Deployment"),
		corev1.SchemeGroupVersion.WithKind("Pod"),
	},
})

func TestMain(m *testing.M) { os.Exit(stage.Run(m)) }

// ready is the first step of a feature. It lets the operator own objects whatever the CustomResourceDefinition says by then. On embedded
// clusters, the admission plugin OwnerReferencesPermissionEnforcement reads every 30 seconds which versions there are. In between, it refuses
// references that block the deletion of an owner of a version that it does not know, unless their writer may finalize everything.
func ready(ctx context.Context, s *framework.Scope) {
	s.Helper()
	s.NeedsWebhooks()
	name := metav1.ObjectMeta{Name: s.NewName("finalizes-everything")}
	for _, object := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: name, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*/finalizers"}, Verbs: []string{"update"}}}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: name,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: s.Operator.UserName()}},
		},
	} {
		if err := s.Client.Create(ctx, object); err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() {
			if err := s.Client.Delete(context.WithoutCancel(ctx), object); err != nil {
				s.Error(err)
			}
		})
	}
}

// createOld creates a Memcached with a port in the old version. Its spec stays as it was sent.
func createOld(ctx context.Context, s *framework.Scope, port int32) *cachev1alpha1.Memcached {
	s.Helper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.NewName("old")},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(s.Size(1, 2)), ContainerPort: &port},
	}
	spec := *mc.Spec.DeepCopy()
	if err := s.Client.Create(ctx, mc); err != nil {
		s.Fatalf("creating the v1alpha1 Memcached %s: %v", mc.Name, err)
	}
	mc.Spec = spec // not the API server's response, which was converted there and back
	return mc
}

// createNew creates a Memcached with a field that only the new version has. Its spec stays as it was sent.
func createNew(ctx context.Context, s *framework.Scope) *cachev1beta1.Memcached {
	s.Helper()
	mc := &cachev1beta1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.NewName("new")},
		Spec: cachev1beta1.MemcachedSpec{
			Replicas: new(s.Size(1, 2)),
			Network:  cachev1beta1.Network{Port: new(s.Port()), MaxConnections: new(s.Size(100, 999))},
		},
	}
	spec := *mc.Spec.DeepCopy()
	if err := s.Client.Create(ctx, mc); err != nil {
		s.Fatalf("creating the v1beta1 Memcached %s: %v", mc.Name, err)
	}
	mc.Spec = spec
	return mc
}

// read reads an object from etcd: a get without a resourceVersion is not answered from the API server's cache.
func read[T client.Object](ctx context.Context, s *framework.Scope, named client.Object, into T) T {
	s.Helper()
	if err := s.Client.Get(ctx, client.ObjectKeyFromObject(named), into); err != nil {
		s.Fatalf("reading the Memcached %s as %T: %v", named.GetName(), into, err)
	}
	return into
}

// asOld reads a Memcached in the old version, and asNew in the new one.
func asOld(ctx context.Context, s *framework.Scope, mc client.Object) *cachev1alpha1.Memcached {
	s.Helper()
	return read(ctx, s, mc, &cachev1alpha1.Memcached{})
}

func asNew(ctx context.Context, s *framework.Scope, mc client.Object) *cachev1beta1.Memcached {
	s.Helper()
	return read(ctx, s, mc, &cachev1beta1.Memcached{})
}

// asOldAndNew reads a Memcached in both versions, with no write in between: the operator may write the status at any time.
func asOldAndNew(ctx context.Context, s *framework.Scope, mc client.Object) (*cachev1alpha1.Memcached, *cachev1beta1.Memcached) {
	s.Helper()
	older, newer := asOld(ctx, s, mc), asNew(ctx, s, mc)
	for older.ResourceVersion != newer.ResourceVersion {
		older, newer = asOld(ctx, s, mc), asNew(ctx, s, mc)
	}
	return older, newer
}

// deploymentOf refers to a Memcached's Deployment.
func deploymentOf(mc client.Object) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: mc.GetNamespace(), Name: mc.GetName()}}
}

var (
	available = framework.Condition{Type: cachev1beta1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: cachev1beta1.ReasonAllReplicasReady}
	converged = framework.Condition{Type: cachev1beta1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: cachev1beta1.ReasonConverged}
	healthy   = framework.Condition{Type: cachev1beta1.ConditionDegraded, Status: metav1.ConditionFalse, Reason: cachev1beta1.ReasonAsExpected}
)

// settled waits until the Memcached's Deployment has as many ready pods as it should, and the status reports it.
func settled(ctx context.Context, s *framework.Scope, mc client.Object, size int32) {
	s.Helper()
	framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(mc), size)
	framework.WaitForConditions(ctx, s, mc, available, converged, healthy)
}

// quiet waits until the operator writes no Memcached any more that is settled. It may write a status again that it computed before
// its cache had the last one. Once it has served a canary that was created afterwards, its cache has all of them. What belonged to the
// canary may stay for a while: the garbage collector stands still when it learns that there is another version.
func quiet(ctx context.Context, s *framework.Scope) {
	s.Helper()
	canary := createNew(ctx, s)
	settled(ctx, s, canary, *canary.Spec.Replicas)
	if err := s.Client.Delete(ctx, canary); err != nil {
		s.Fatal(err)
	}
	framework.WaitForDeletion(ctx, s, canary)
}
