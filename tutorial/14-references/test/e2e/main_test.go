// Package e2e is the suite of this chapter: what its operator does, asserted on a real API server.
package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/14-references/api/v1alpha1"
)

var stage = framework.New(framework.Options{
	Name:          "14-references",
	AddToScheme:   []func(*runtime.Scheme) error{cachev1alpha1.AddToScheme},
	CRDs:          []string{"../../config/crd/bases"},
	Package:       "../../cmd",
	Kustomization: "../../config/default",
	Operand:       framework.Operand{Variable: "MEMCACHED_IMAGE", Image: "docker.io/library/memcached:1.6.39-alpine"},
	Record: []schema.GroupVersionKind{
		cachev1alpha1.GroupVersion.WithKind("Memcached"),
		appsv1.SchemeGroupVersion.WithKind("Deployment"),
		corev1.SchemeGroupVersion.WithKind("Pod"),
		corev1.SchemeGroupVersion.WithKind("Service"),
		corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	},
})

func TestMain(m *testing.M) { os.Exit(stage.Run(m)) }

// specChange is a change of a Memcached's spec.
type specChange func(*cachev1alpha1.MemcachedSpec)

// using makes memcached let in the users in the Secret of that name.
func using(secret string) specChange {
	return func(spec *cachev1alpha1.MemcachedSpec) {
		spec.AuthSecretRef = &cachev1alpha1.SecretReference{Name: secret}
	}
}

// publishing asks for a ConfigMap of that name for clients, or for none if the name is empty.
func publishing(configMap string) specChange {
	return func(spec *cachev1alpha1.MemcachedSpec) { spec.ClientConfigMapName = configMap }
}

// create creates a small Memcached in the feature's namespace.
func create(ctx context.Context, s *framework.Scope, name string, changes ...specChange) *cachev1alpha1.Memcached {
	s.Helper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(s.Size(1, 2))},
	}
	for _, change := range changes {
		change(&mc.Spec)
	}
	if err := s.Client.Create(ctx, mc); err != nil {
		s.Fatalf("creating the Memcached %s: %v", name, err)
	}
	return mc
}

// change patches the Memcached's spec and keeps mc up to date.
func change(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, edit specChange) {
	s.Helper()
	before := mc.DeepCopy()
	edit(&mc.Spec)
	if err := s.Client.Patch(ctx, mc, client.MergeFrom(before)); err != nil {
		s.Fatalf("changing the Memcached %s: %v", mc.Name, err)
	}
}

// merge changes an object by a merge patch, as another field manager than the operator.
func merge(ctx context.Context, s *framework.Scope, obj client.Object, patch string) {
	s.Helper()
	if err := s.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("kubectl")); err != nil {
		s.Fatalf("changing %s: %v", obj.GetName(), err)
	}
}

// deleteObject deletes an object.
func deleteObject(ctx context.Context, s *framework.Scope, obj client.Object) {
	s.Helper()
	if err := s.Client.Delete(ctx, obj); err != nil {
		s.Fatalf("deleting %s: %v", obj.GetName(), err)
	}
}

// createSecret creates a Secret with one user.
func createSecret(ctx context.Context, s *framework.Scope, name string) *corev1.Secret {
	s.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		StringData: map[string]string{"users": "ann:" + s.NewName("password") + "\n"},
	}
	if err := s.Client.Create(ctx, secret); err != nil {
		s.Fatalf("creating the Secret %s: %v", name, err)
	}
	return secret
}

// changePassword changes a Secret's user.
func changePassword(ctx context.Context, s *framework.Scope, secret *corev1.Secret) {
	s.Helper()
	merge(ctx, s, secret, fmt.Sprintf(`{"stringData":{"users":"ann:%s\n"}}`, s.NewName("password")))
}

// createConfigMap creates a ConfigMap that the operator has nothing to do with.
func createConfigMap(ctx context.Context, s *framework.Scope, name string, labels map[string]string) *corev1.ConfigMap {
	s.Helper()
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name, Labels: labels},
		Data:       map[string]string{"mine": "yes"},
	}
	if err := s.Client.Create(ctx, configMap); err != nil {
		s.Fatalf("creating the ConfigMap %s: %v", name, err)
	}
	return configMap
}

// uidLabel is the label with which the operator marks what belongs to a Memcached.
const uidLabel = "cache.example.com/memcached-uid"

// deploymentOf refers to a Memcached's Deployment.
func deploymentOf(mc *cachev1alpha1.Memcached) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name}}
}

// serviceOf refers to a Memcached's Service.
func serviceOf(mc *cachev1alpha1.Memcached) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name}}
}

// configMapOf refers to a Memcached's ConfigMap for clients.
func configMapOf(mc *cachev1alpha1.Memcached) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Spec.ClientConfigMapName}}
}

var (
	available     = framework.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonAllReplicasReady}
	converged     = framework.Condition{Type: cachev1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonConverged}
	healthy       = framework.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonAsExpected}
	secretMissing = framework.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonSecretMissing}
	nameTaken     = framework.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonNameTaken}
)

// settled waits until the Memcached's Deployment has as many ready pods as the Memcached asks for, and its status reports it.
func settled(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
	s.Helper()
	framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(mc), *mc.Spec.Size)
	framework.WaitForConditions(ctx, s, mc, available, converged, healthy)
}

// generationOf returns the generation of the Memcached's Deployment, which counts the changes of its spec.
func generationOf(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) int64 {
	s.Helper()
	deployment := deploymentOf(mc)
	framework.WaitForObject(ctx, s, deployment, Not(BeNil()))
	return deployment.Generation
}

// rest waits until the operator has done what there was to do. It serves one more Memcached, and a change of that one's Secret, of
// which it learns after all changes of Secrets before.
func rest(ctx context.Context, s *framework.Scope) {
	s.Helper()
	secret := createSecret(ctx, s, s.NewName("canary"))
	canary := create(ctx, s, secret.Name, using(secret.Name))
	settled(ctx, s, canary)
	before := generationOf(ctx, s, canary)
	changePassword(ctx, s, secret)
	framework.WaitForObject(ctx, s, deploymentOf(canary), HaveField("Generation", BeNumerically(">", before)))
	settled(ctx, s, canary)
}
