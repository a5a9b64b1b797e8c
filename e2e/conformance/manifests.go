package conformance

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/manifest"
)

// managerOf returns the Deployment of the manager, as the manifests have it, and its container.
func managerOf(s *framework.Scope) (*appsv1.Deployment, *corev1.Container) {
	objects := s.Manifests().Select("Deployment") // one: Prepare has left out all others
	if len(objects) != 1 {
		s.Skipf("the manifests have %d Deployments where one, the manager's, was expected", len(objects))
	}
	d, err := deploymentFrom(objects[0])
	must(s, err)
	container, err := manifest.ManagerContainer(d)
	must(s, err)
	return d, container
}

// Restricted checks that the manager's pods meet the Pod Security Standard "restricted".
func (c Checks) Restricted(_ context.Context, s *framework.Scope) {
	d, _ := managerOf(s)
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	must(s, err)
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	result := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &d.Spec.Template.ObjectMeta, &d.Spec.Template.Spec))
	if !result.Allowed {
		s.Fatalf("expected the manager's pods to meet the Pod Security Standard restricted; last seen: %s", result.ForbiddenDetail())
	}
}

// ReadOnly checks that the containers of the manager's pods can't write to their root file systems.
func (c Checks) ReadOnly(_ context.Context, s *framework.Scope) {
	verifyContainers(s, "readOnlyRootFilesystem", func(container corev1.Container) bool {
		return container.SecurityContext != nil && container.SecurityContext.ReadOnlyRootFilesystem != nil && *container.SecurityContext.ReadOnlyRootFilesystem
	})
}

// Requests checks that the containers of the manager's pods have resource requests, which the scheduler uses. Without a request, a limit
// counts as one.
func (c Checks) Requests(_ context.Context, s *framework.Scope) {
	verifyContainers(s, "requests of CPU and memory", func(container corev1.Container) bool {
		return !slices.ContainsFunc([]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}, func(name corev1.ResourceName) bool {
			return container.Resources.Requests.Name(name, "").IsZero() && container.Resources.Limits.Name(name, "").IsZero()
		})
	})
}

// verifyContainers checks that each container of the manager's pods has what is wanted.
func verifyContainers(s *framework.Scope, wanted string, has func(corev1.Container) bool) {
	d, _ := managerOf(s)
	var lack []string
	for _, container := range slices.Concat(d.Spec.Template.Spec.InitContainers, d.Spec.Template.Spec.Containers) {
		if !has(container) {
			lack = append(lack, container.Name)
		}
	}
	if len(lack) > 0 {
		s.Fatalf("expected each container of the manager's pods to have %s; last seen: %s does not", wanted, strings.Join(lack, " and "))
	}
}

// Probes checks that the manager has probes with which a kubelet can find out whether it is alive and ready.
func (c Checks) Probes(_ context.Context, s *framework.Scope) {
	_, container := managerOf(s)
	var lack []string
	if container.LivenessProbe == nil {
		lack = append(lack, "livenessProbe")
	}
	if container.ReadinessProbe == nil {
		lack = append(lack, "readinessProbe")
	}
	if len(lack) > 0 {
		s.Fatalf("expected the container %s to have a livenessProbe and a readinessProbe; last seen: no %s", container.Name, strings.Join(lack, ", no "))
	}
}

// Elected checks that several replicas of the manager elect a leader, as shown by an argument, a variable or, because a program may need
// neither, permissions for leases.
func (c Checks) Elected(_ context.Context, s *framework.Scope) {
	d, container := managerOf(s)
	if d.Spec.Replicas == nil || *d.Spec.Replicas < 2 {
		s.DoesNotApply("the manifests ask for one replica of the manager")
	}
	words := slices.Concat(container.Command, container.Args)
	for _, variable := range container.Env {
		words = append(words, variable.Name)
	}
	for _, role := range s.Manifests().Select("Role", "ClusterRole") {
		typed := &rbacv1.ClusterRole{} // whose rules are those of a Role
		must(s, runtime.DefaultUnstructuredConverter.FromUnstructured(role.Object, typed))
		for _, rule := range typed.Rules {
			words = append(words, rule.Resources...)
		}
	}
	if !slices.ContainsFunc(words, isAboutElection) {
		s.Fatalf("expected %d replicas of the manager to elect a leader; last seen: no argument or variable that says so, and no permission for leases", *d.Spec.Replicas)
	}
}

// isAboutElection reports whether an argument, the name of a variable, or a resource is about the election of a leader. Prepare has added an
// argument that switches it off.
func isAboutElection(word string) bool {
	word = strings.ToLower(word)
	return word == "leases" || word == "*" || strings.Contains(word, "leader") && !strings.HasSuffix(word, "=false")
}
