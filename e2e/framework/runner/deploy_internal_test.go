package runner

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/example/operator-testbed/e2e/framework/manifest"
)

func TestWorkload(t *testing.T) {
	g := NewWithT(t)
	manifests, err := manifest.Render("../../../operator/config/default")
	g.Expect(err).NotTo(HaveOccurred())
	object, err := DeployOptions{
		Manifests: manifests, Image: "somewhere/operator:v2", Replicas: 2, Env: []string{"MEMCACHED_IMAGE=memcached:of-mine", "NEW=a=b"},
	}.workload()
	g.Expect(err).NotTo(HaveOccurred())
	var deployment, before appsv1.Deployment
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &deployment)).To(Succeed())
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(manifests.Select("Deployment")[0].Object, &before)).To(Succeed())
	g.Expect(deployment.Spec.Replicas).To(HaveValue(BeEquivalentTo(2)))
	container, was := &deployment.Spec.Template.Spec.Containers[0], before.Spec.Template.Spec.Containers[0]
	g.Expect(container.Image).To(Equal("somewhere/operator:v2"))
	g.Expect(container.Env).To(ContainElements(
		corev1.EnvVar{Name: "MEMCACHED_IMAGE", Value: "memcached:of-mine"}, corev1.EnvVar{Name: "NEW", Value: "a=b"}))
	g.Expect(container.Env).To(HaveLen(len(was.Env)+1), "a variable is there twice")
	container.Image, container.Env, deployment.Spec.Replicas = was.Image, was.Env, before.Spec.Replicas
	g.Expect(deployment).To(Equal(before), "more has changed than was asked for")

	object, err = DeployOptions{Manifests: manifests, Image: was.Image, Patience: []string{"--slowly"}}.workload()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &deployment)).To(Succeed())
	g.Expect(deployment.Spec.Template.Spec.Containers[0].Args).To(Equal(append(was.Args, "--slowly")))
	g.Expect(deployment.Spec.Template.Spec.Containers[0].LivenessProbe.TimeoutSeconds).To(BeEquivalentTo(deployedProbeSeconds))
	g.Expect(deployment.Spec.Template.Spec.Containers[0].ReadinessProbe.TimeoutSeconds).To(BeEquivalentTo(deployedProbeSeconds))
}
