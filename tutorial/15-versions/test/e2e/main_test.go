// Package e2e is the suite of this chapter: what its operator does, asserted on a real API server.
package e2e

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
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

// withWebhooks is a step that needs the conversion webhook.
func withWebhooks[F any](step framework.StepOf[F]) framework.StepOf[F] {
	return func(ctx context.Context, s *framework.Scope, given F) {
		s.Helper()
		if !s.Webhooks {
			s.Skip("the API server of this cluster can't call webhooks of a process on this machine")
		}
		step(ctx, s, given)
	}
}

// createOld creates a Memcached with a port in the old version. Its spec stays as it was sent.
func createOld(ctx context.Context, s *framework.Scope, port int32) *cachev1alpha1.Memcached {
	s.Helper()
	ownable(ctx, s)
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
	ownable(ctx, s)
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

// ownable waits until a Memcached of the new version can own objects, so that a test does not wait for it. Every 30 seconds, the admission
// plugin OwnerReferencesPermissionEnforcement reads which versions there are. Until it knows one, it refuses references to an owner of that
// version that block its deletion, unless an administrator writes them, and an operator has to try again. It may also know the version from
// an earlier definition, and forget it when it reads a list that lacks it, so that list has to have it first.
func ownable(ctx context.Context, s *framework.Scope) {
	s.Helper()
	config := rest.CopyConfig(s.Config)
	config.Impersonate.UserName = s.Operator.UserName()
	operator, err := client.New(config, client.Options{})
	if err != nil {
		s.Fatal(err)
	}
	version := cachev1beta1.GroupVersion.String()
	owner := metav1.OwnerReference{APIVersion: version, Kind: "Memcached", Name: "none", UID: "none", BlockOwnerDeletion: new(true)}
	labels := map[string]string{"app": "none"}
	owned := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.NewName("owned"), OwnerReferences: []metav1.OwnerReference{owner}},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "none", Image: "none"}}}},
		},
	}
	framework.WaitFor(ctx, s.Patient(framework.Converge), "the admission of owned objects", func(ctx context.Context) error {
		groups, err := discovery.NewDiscoveryClientForConfigOrDie(s.Config).ServerGroups()
		if err != nil {
			return err
		}
		if !slices.Contains(metav1.ExtractGroupVersions(groups), version) {
			return errors.New("expected v1beta1 in the list of versions; last seen: it is not there")
		}
		return operator.Create(ctx, owned.DeepCopy(), client.DryRunAll)
	})
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
