package e2e

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/record"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/08-deployment/api/v1alpha1"
)

// TestPod asks the API server whether it would admit the manager's pod. No pod has to run for that.
func TestPod(t *testing.T) {
	stage.Feature("the manager's pod").
		Assess("is admitted where the restricted Pod Security level is enforced", func(ctx context.Context, s *framework.Scope) {
			g := NewWithT(s)
			manager := managerOf(s, manifests(s))
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: manager.Namespace}}
			framework.WaitForObject(ctx, s, namespace, HaveField("Labels", HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted")))
			pod := podOf(s, manager, manager.Namespace)
			g.Expect(s.Client.Create(ctx, pod, client.DryRunAll)).To(Succeed(), "expected that the manager's pod is admitted")
			g.Expect(pod.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem).To(HaveValue(BeTrue()), "expected a read-only root file system")
		}).
		Assess("is admitted where a quota limits CPU time and memory", func(ctx context.Context, s *framework.Scope) {
			hard := corev1.ResourceList{}
			for _, name := range []corev1.ResourceName{corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory} {
				hard[name] = resource.MustParse("8Gi") // more than any container requests
			}
			quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.NewName("quota")}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
			if err := s.Client.Create(ctx, quota); err != nil {
				s.Fatal(err)
			}
			framework.WaitForObject(ctx, s, quota, HaveField("Status.Used", HaveLen(len(hard))))
			pod := podOf(s, managerOf(s, manifests(s)), s.Namespace)
			pod.Spec.ServiceAccountName = "" // the manager's is in another namespace
			NewWithT(s).Expect(s.Client.Create(ctx, pod, client.DryRunAll)).To(Succeed(), "expected that the manager's container has requests and limits")
		}).
		Test(t)
}

// podOf returns a pod that the manager's Deployment would create.
func podOf(s *framework.Scope, manager *appsv1.Deployment, namespace string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: s.NewName("trial")}, Spec: manager.Spec.Template.Spec}
}

// TestUpdate updates the manager's Deployment. Its pods are simulated, and the record shows whether two existed at the same time.
func TestUpdate(t *testing.T) {
	framework.Given(stage.Feature("an update"), func(ctx context.Context, s *framework.Scope) *appsv1.Deployment {
		s.NeedsSimulation("their nodes do not have the operator's image; TestDeployed updates the deployed operator")
		manager := managerOf(s, manifests(s))
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: manager.Spec.Template.Spec.ServiceAccountName}}
		for _, object := range []client.Object{account, manager} {
			object.SetNamespace(s.Namespace)
			if err := s.Client.Create(ctx, object); err != nil {
				s.Fatal(err)
			}
		}
		framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(manager), 1)
		return manager
	}).
		Assess("starts the new pod after the old one has stopped", func(ctx context.Context, s *framework.Scope, manager *appsv1.Deployment) {
			update(ctx, s, client.ObjectKeyFromObject(manager))
			versions := s.Versions(ctx)
			pods := map[types.UID]bool{}
			for _, version := range versions {
				pod := version.Object
				if pod.GetKind() != "Pod" || pods[pod.GetUID()] {
					continue
				}
				pods[pod.GetUID()] = true
				NewWithT(s).Expect(record.Before(versions, "Pod", version.Revision)).To(BeEmpty(), "expected that the old pod is gone before %s is created", pod.GetName())
			}
			NewWithT(s).Expect(pods).To(HaveLen(2), "expected one pod before the update and one after it")
		}).
		Test(t)
}

// update changes the pod template of the Deployment, and returns when its only pod is made from the new one.
func update(ctx context.Context, s *framework.Scope, manager client.ObjectKey) {
	s.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: manager.Namespace, Name: manager.Name}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"template":{"metadata":{"annotations":{"cache.example.com/updated":"yes"}}}}}`))
	if err := s.Client.Patch(ctx, deployment, patch); err != nil {
		s.Fatal(err)
	}
	framework.WaitForDeployment(ctx, s, manager, 1)
}

// TestDeployed stops the process and deploys the operator as its users do: as an image.
func TestDeployed(t *testing.T) {
	deployed := stage.Feature("deployed").
		WithLabel("needs", "kubelet").
		Setup(func(ctx context.Context, s *framework.Scope) {
			s.NeedsKubelet("the operator as an image")
			s.RestartAfterwards(ctx)
			if err := s.Operator.Stop(ctx); err != nil {
				s.Fatal(err)
			}
			s.Deploy(ctx, 1)
		})
	framework.Given(deployed, sample).
		Assess("serves the sample", settled).
		Assess("works after an update", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			update(ctx, s, s.Deployed.Manager)
			change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(s.Size(*spec.Size+1, 5)) })
			settled(ctx, s, mc)
		}).
		TestAlone(t)
}
