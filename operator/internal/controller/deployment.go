package controller

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	acappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	accorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	acmetav1 "k8s.io/client-go/applyconfigurations/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/ssa"
)

const (
	// containerName is the name of the only container that the operator puts into a pod, and of its port.
	containerName = "memcached"

	// labelInstance holds the name of the Memcached that an object is for.
	labelInstance = "app.kubernetes.io/instance"

	// memcachedUser is the UID and GID of the user "memcache" in the official images. The images name that user, and the
	// kubelet cannot tell whether a name is root, so runAsNonRoot needs the number.
	memcachedUser = 11211

	// cacheMegabytes is the value of memcached's flag -m, the size of its cache. The rest of the memory limit is for connections,
	// threads and the hash table.
	cacheMegabytes = 64
)

// podOption changes the desired pods for all Memcacheds alike.
type podOption func(*accorev1.PodSpecApplyConfiguration)

// withoutUser leaves the user and group of the pods to the cluster. OpenShift, for example, assigns both, and refuses others.
func withoutUser(pod *accorev1.PodSpecApplyConfiguration) {
	pod.SecurityContext.RunAsUser, pod.SecurityContext.RunAsGroup = nil, nil
}

// podOptions returns the options for the pods of every Memcached.
func (r *MemcachedReconciler) podOptions() []podOption {
	if r.OmitRunAsUser {
		return []podOption{withoutUser}
	}
	return nil
}

// desiredDeployment returns the Deployment for mc, with memcached from image. It sets every field that the operator owns, and no
// other. The spec of mc must have its defaults (see setDefaults).
func desiredDeployment(mc *cachev1alpha1.Memcached, image string, options ...podOption) *acappsv1.DeploymentApplyConfiguration {
	return desiredDeploymentSelecting(mc.UID, mc, image, options...)
}

// desiredDeploymentSelecting returns the Deployment for mc with pods that are selected by a UID. For an adopted Deployment, that is
// the UID of an earlier Memcached.
func desiredDeploymentSelecting(uid types.UID, mc *cachev1alpha1.Memcached, image string, options ...podOption) *acappsv1.DeploymentApplyConfiguration {
	template := desiredPodTemplate(uid, mc, image)
	for _, option := range options {
		option(template.Spec)
	}
	template.WithLabels(map[string]string{cachev1alpha1.LabelTemplateHash: hash(template)})

	deployment := acappsv1.Deployment(mc.Name, mc.Namespace).
		WithLabels(commonLabels(uid, mc)).
		WithOwnerReferences(acmetav1.OwnerReference().
			WithAPIVersion(cachev1alpha1.GroupVersion.String()).
			WithKind("Memcached").
			WithName(mc.Name).
			WithUID(mc.UID).
			WithController(true).
			WithBlockOwnerDeletion(true)).
		WithSpec(acappsv1.DeploymentSpec().
			WithReplicas(*mc.Spec.Size).
			WithRevisionHistoryLimit(2).
			WithSelector(acmetav1.LabelSelector().WithMatchLabels(selectorLabels(uid))).
			// A replacement is ready before the old pod is removed, so a rollout never reduces capacity.
			// Up to a quarter of the pods are replaced at once, which is the default of Deployments.
			WithStrategy(acappsv1.DeploymentStrategy().
				WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(acappsv1.RollingUpdateDeployment().
					WithMaxSurge(intstr.FromString("25%")).
					WithMaxUnavailable(intstr.FromInt32(0)))).
			WithTemplate(template))
	return deployment.WithAnnotations(map[string]string{cachev1alpha1.AnnotationFieldsHash: hash(ssa.Fields(deployment))})
}

// desiredPodTemplate returns the template of the pods of mc, without the label for its hash. The pods meet the restricted Pod
// Security Standard.
func desiredPodTemplate(uid types.UID, mc *cachev1alpha1.Memcached, image string) *accorev1.PodTemplateSpecApplyConfiguration {
	port := *mc.Spec.ContainerPort
	probe := func(periodSeconds int32) *accorev1.ProbeApplyConfiguration {
		return accorev1.Probe().
			WithTCPSocket(accorev1.TCPSocketAction().WithPort(intstr.FromInt32(port))).
			WithPeriodSeconds(periodSeconds)
	}
	// The scheduler prefers nodes and zones with fewer pods of mc, but keeps no pod pending. A preferred anti-affinity would do the
	// same, but Kubernetes' documentation advises against that in large clusters, because scheduling takes longer.
	spread := func(domain string) *accorev1.TopologySpreadConstraintApplyConfiguration {
		return accorev1.TopologySpreadConstraint().
			WithTopologyKey(domain).
			WithMaxSkew(1).
			WithWhenUnsatisfiable(corev1.ScheduleAnyway).
			WithLabelSelector(acmetav1.LabelSelector().WithMatchLabels(selectorLabels(uid))).
			// Otherwise, the old pods would count during a rollout, and leave the new ones unevenly spread.
			WithMatchLabelKeys(appsv1.DefaultDeploymentUniqueLabelKey)
	}
	return accorev1.PodTemplateSpec().
		WithLabels(commonLabels(uid, mc)).
		WithSpec(accorev1.PodSpec().
			WithNodeSelector(map[string]string{corev1.LabelOSStable: string(corev1.Linux)}).
			WithTopologySpreadConstraints(spread(corev1.LabelHostname), spread(corev1.LabelTopologyZone)).
			WithAutomountServiceAccountToken(false).
			WithEnableServiceLinks(false).
			WithTerminationGracePeriodSeconds(10).
			WithSecurityContext(accorev1.PodSecurityContext().
				WithRunAsNonRoot(true).
				WithRunAsUser(memcachedUser).
				WithRunAsGroup(memcachedUser).
				WithSeccompProfile(accorev1.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
			WithContainers(accorev1.Container().
				WithName(containerName).
				WithImage(image).
				WithImagePullPolicy(corev1.PullIfNotPresent).
				WithCommand("memcached").
				WithArgs(
					"-p", strconv.Itoa(int(port)),
					"-m", strconv.Itoa(cacheMegabytes),
					"-U", "0", // no UDP, which attackers can use for amplification
				).
				WithPorts(accorev1.ContainerPort().
					WithName(containerName).
					WithContainerPort(port).
					WithProtocol(corev1.ProtocolTCP)).
				WithReadinessProbe(probe(5)).
				WithLivenessProbe(probe(10)).
				WithResources(accorev1.ResourceRequirements().
					WithRequests(corev1.ResourceList{
						corev1.ResourceCPU:    resource.MustParse("10m"),
						corev1.ResourceMemory: resource.MustParse("96Mi"),
					}).
					WithLimits(corev1.ResourceList{
						corev1.ResourceMemory: resource.MustParse("128Mi"),
					})).
				WithSecurityContext(accorev1.SecurityContext().
					WithAllowPrivilegeEscalation(false).
					WithReadOnlyRootFilesystem(true).
					WithCapabilities(accorev1.Capabilities().WithDrop("ALL")))))
}

// selectorLabels returns the labels that select pods by the UID of the Memcached that their Deployment was created for. A
// Deployment's selector is immutable.
func selectorLabels(uid types.UID) map[string]string {
	return map[string]string{cachev1alpha1.LabelMemcachedUID: string(uid)}
}

// selector returns selectorLabels in the form of status.selector.
func selector(uid types.UID) string {
	return labels.SelectorFromSet(selectorLabels(uid)).String()
}

// commonLabels returns the labels of the Deployment of mc and of its pods, which are selected by the UID.
func commonLabels(uid types.UID, mc *cachev1alpha1.Memcached) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":        "memcached",
		labelInstance:                   mc.Name,
		"app.kubernetes.io/part-of":     "operator-testbed",
		"app.kubernetes.io/managed-by":  cachev1alpha1.FieldManager,
		cachev1alpha1.LabelMemcachedUID: string(uid),
	}
}

// templateHash returns the hash in the label of pods of the current configuration.
func templateHash(desired *acappsv1.DeploymentApplyConfiguration) string {
	return desired.Spec.Template.Labels[cachev1alpha1.LabelTemplateHash]
}

// hash returns a valid label value that is the same for equal values, which are apply configurations or lists of strings. They hold
// pointers, slices and maps with string keys, so their JSON is the same every time.
func hash(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("%T is always JSON: %v", value, err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
