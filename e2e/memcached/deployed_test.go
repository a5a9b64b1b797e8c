package memcached

import (
	"context"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/expect"
	"github.com/example/operator-testbed/e2e/runner"
	"github.com/example/operator-testbed/e2e/suite"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestDeployed owns the operator, which makes way for one of the same code that runs as its users run it: as an image, of which
// there are two pods, with webhooks.
func TestDeployed(t *testing.T) {
	const image = "operator-testbed/operator:suite"
	var (
		mc      *cachev1alpha1.Memcached
		before  []string
		manager client.ObjectKey
	)
	memcached.TestAlone(t, features.New("deployed").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "operator").
		WithLabel("needs", "kubelet").
		Setup(suite.Step(ownOperator)).
		Setup(suite.Step(withKubelet(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc = create(ctx, t, s, "cache", 2)
			settled(ctx, t, s, mc)
			before = namesOf(podsOf(ctx, t, s, mc))
			deployment := deploymentOf(mc)
			s.Expect(t).Object(ctx, deployment, Not(BeNil()))
			manifests, err := runner.Render("../../operator/config/default")
			if err != nil {
				t.Fatal(err)
			}
			manager = manage(t, manifests, image, deployment.Spec.Template.Spec.Containers[0].Image)
			buildImage(ctx, t, image)
			s.LoadImage(ctx, t, image)
			stop(ctx, t, s)
			t.Cleanup(func() { undeploy(context.WithoutCancel(ctx), t, s, manifests, manager.Namespace) })
			if err := runner.Apply(ctx, s.Client, manifests.Without("CustomResourceDefinition")); err != nil {
				t.Fatal(err)
			}
		}))).
		Assess("runs in a namespace that enforces the restricted Pod Security level", suite.Step(withKubelet(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			s.Expect(t).DeploymentSize(ctx, manager, 2)
			namespace := &corev1.Namespace{}
			namespace.Name = manager.Namespace
			s.Expect(t).Object(ctx, namespace, HaveField("Labels", HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted")))
		}))).
		Assess("goes on with what was there, and restarts no pod", suite.Step(withKubelet(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			untilAnswered(ctx, t, s)
			settled(ctx, t, s, create(ctx, t, s, "next", 1))
			settled(ctx, t, s, mc)
			NewWithT(t).Expect(namesOf(podsOf(ctx, t, s, mc))).To(Equal(before))
		}))).
		Assess("has its webhooks called", suite.Step(withKubelet(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			asked := named(s, "asked")
			if err := as(t, s, "jane").Create(ctx, asked); err != nil {
				t.Fatal(err)
			}
			NewWithT(t).Expect(asked.Annotations).To(HaveKeyWithValue(cachev1alpha1.AnnotationRequestedBy, "jane"))
		}))).
		Assess("has metrics for those who may read them", suite.Step(withKubelet(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			pod := managers(ctx, t, s, manager.Namespace)[0]
			scraper := newScraper(ctx, t, s)
			scraper.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
				return s.Dial(ctx, t, &pod, 8443), nil
			}
			metricsAccess(ctx, t, s, scraper, "https://metrics")
		}))).
		Assess("is followed when its leader is killed", suite.Step(withKubelet(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			lease := leaseIn(manager.Namespace)
			s.Expect(t).Object(ctx, lease, HaveField("Spec.HolderIdentity", Not(HaveValue(BeEmpty()))))
			pods := managers(ctx, t, s, manager.Namespace)
			leading := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return strings.HasPrefix(*lease.Spec.HolderIdentity, pod.Name+"_") })
			if leading < 0 {
				t.Fatalf("the lease is %s's, expected it to be a pod's of %q", *lease.Spec.HolderIdentity, namesOf(pods))
			}
			s.Signal(ctx, t, &pods[leading], "manager", "KILL")
			// By the other pod, or by itself, should the kubelet be quick: it is another process then.
			s.Expect(t).Object(ctx, lease, HaveField("Spec.HolderIdentity", HaveValue(Not(BeElementOf("", *lease.Spec.HolderIdentity)))))
			change(ctx, t, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(3)) })
			settled(ctx, t, s, mc)
			restarted(ctx, t, s, &pods[leading], "Error")
			s.Expect(t).DeploymentSize(ctx, manager, 2)
		}))).
		Feature())
}

// manage makes the manifests' manager two pods of the image, which deploy memcached from the other one, and returns its name.
func manage(t *testing.T, manifests runner.Manifests, image, operand string) client.ObjectKey {
	t.Helper()
	deployment := manifests.Select("Deployment")[0]
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil {
		t.Fatal(err)
	}
	container := containers[0].(map[string]any)
	container["image"] = image
	for _, variable := range container["env"].([]any) {
		if variable := variable.(map[string]any); variable["name"] == "MEMCACHED_IMAGE" {
			variable["value"] = operand
		}
	}
	spec := deployment.Object["spec"].(map[string]any)
	spec["replicas"] = int64(2)
	if err := unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers"); err != nil {
		t.Fatal(err)
	}
	return client.ObjectKeyFromObject(deployment)
}

// buildImage builds the operator's image as its users do.
func buildImage(ctx context.Context, t *testing.T, image string) {
	t.Helper()
	build := exec.CommandContext(ctx, "make", "-C", "../../operator", "docker-build", "IMG="+image)
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the image %s: %v\n%s", image, err, output)
	}
}

// undeploy removes what only an operator that is deployed has: its Deployment, and the webhooks that nobody would answer.
func undeploy(ctx context.Context, t *testing.T, s *suite.Scope, manifests runner.Manifests, namespace string) {
	t.Helper()
	if err := runner.Remove(ctx, s.Config, manifests.Select("Deployment", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")); err != nil {
		t.Error(err)
	}
	s.Expect(t).NoneLeft(ctx, &corev1.PodList{}, client.InNamespace(namespace))
}

// untilAnswered tries until webhooks are answered. The way from the API server to a pod that is ready is made by kube-proxy, a
// moment later, which nobody can watch.
func untilAnswered(ctx context.Context, t *testing.T, s *suite.Scope) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, expect.Converge)
	defer cancel()
	for {
		err := s.Client.Create(ctx, named(s, "trial"), client.DryRunAll)
		if err == nil {
			return
		}
		if ctx.Err() != nil || !strings.Contains(err.Error(), "failed calling webhook") {
			t.Fatalf("asking the webhooks: %v", err)
		}
	}
}

// managers returns the operator's two pods.
func managers(ctx context.Context, t *testing.T, s *suite.Scope, namespace string) []corev1.Pod {
	t.Helper()
	pods := &corev1.PodList{}
	if err := s.Client.List(ctx, pods, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != 2 {
		t.Fatalf("the namespace %s has the pods %q, expected two", namespace, namesOf(pods.Items))
	}
	return pods.Items
}

func namesOf(pods []corev1.Pod) []string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}
