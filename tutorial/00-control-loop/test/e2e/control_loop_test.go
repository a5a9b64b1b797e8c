// Package e2e is the suite of this chapter: what Kubernetes' own controllers do, asserted on a real API server.
package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/framework"
)

// config is the directory of the chapter's manifests.
const config = "../../config"

// replicas and completions are what the chapter has its reader write in the manifests.
const replicas, completions = 3, 2

var stage = framework.New(framework.Options{
	Name:   "00-control-loop",
	Config: config,
	Record: []schema.GroupVersionKind{
		appsv1.SchemeGroupVersion.WithKind("Deployment"),
		corev1.SchemeGroupVersion.WithKind("Pod"),
	},
})

func TestMain(m *testing.M) { os.Exit(stage.Run(m)) }

func TestDeployment(t *testing.T) {
	framework.Given(stage.Feature("the Deployment"), func(ctx context.Context, s *framework.Scope) *appsv1.Deployment {
		s.NeedsImage(ctx, "docker.io/library/memcached:1.6.39-alpine")
		return create(ctx, s, "deployment.yaml", &appsv1.Deployment{})
	}).
		Assess("has as many pods as are wanted", func(ctx context.Context, s *framework.Scope, cache *appsv1.Deployment) {
			framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(cache), replicas)
		}).
		Assess("replaces a pod that was deleted", func(ctx context.Context, s *framework.Scope, cache *appsv1.Deployment) {
			pods := &corev1.PodList{}
			NewWithT(s).Expect(s.Client.List(ctx, pods, client.InNamespace(s.Namespace), client.MatchingLabels{"app": "cache"})).To(Succeed())
			NewWithT(s).Expect(pods.Items).To(HaveLen(replicas))
			NewWithT(s).Expect(s.Client.Delete(ctx, &pods.Items[0])).To(Succeed())
			framework.WaitForDeletion(ctx, s, &pods.Items[0])
			framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(cache), replicas)
		}).
		Assess("follows a change of what is wanted", func(ctx context.Context, s *framework.Scope, cache *appsv1.Deployment) {
			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, s.Size(replicas+1, replicas+2)))
			NewWithT(s).Expect(s.Client.Patch(ctx, cache, patch)).To(Succeed())
			framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(cache), *cache.Spec.Replicas)
		}).
		Test(t)
}

func TestJob(t *testing.T) {
	stage.Feature("the Job").
		Assess("is complete when its pods are", func(ctx context.Context, s *framework.Scope) {
			s.NeedsImage(ctx, "docker.io/library/busybox:1.37")
			count := create(ctx, s, "job.yaml", &batchv1.Job{})
			framework.WaitForObject(ctx, s, count, And(
				HaveField("Status.Succeeded", BeEquivalentTo(completions)),
				HaveField("Status.Conditions", ContainElement(And(
					HaveField("Type", batchv1.JobComplete), HaveField("Status", corev1.ConditionTrue),
				))),
			))
		}).
		Test(t)
}

// create creates the object in one of the chapter's manifests, in the feature's namespace, and returns it, filled in.
func create[T client.Object](ctx context.Context, s *framework.Scope, file string, object T) T {
	s.Helper()
	path, err := stage.Manifests(config + "/" + file)
	if err != nil {
		s.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, object); err != nil {
		s.Fatal(err)
	}
	object.SetNamespace(s.Namespace)
	if err := s.Client.Create(ctx, object); err != nil {
		s.Fatal(err)
	}
	return object
}
