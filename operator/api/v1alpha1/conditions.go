package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of the conditions in a Memcached's status. All three are present from the operator's first write on.
const (
	// ConditionAvailable is true when at least spec.size pods are ready. It is about capacity: it stays true while a rollout
	// replaces pods.
	ConditionAvailable = "Available"

	// ConditionProgressing is true while the pods are changing to what the spec asks for. A change is complete when Available is
	// true and Progressing is false.
	ConditionProgressing = "Progressing"

	// ConditionDegraded is true while something fails that is unlikely to recover on its own.
	ConditionDegraded = "Degraded"
)

// The reasons of ConditionAvailable.
const (
	// ReasonAllReplicasReady (True): at least spec.size replicas are ready.
	ReasonAllReplicasReady = "AllReplicasReady"

	// ReasonReplicasNotReady (False): fewer than spec.size replicas are ready.
	ReasonReplicasNotReady = "ReplicasNotReady"

	// ReasonDeploymentUnknown (Unknown): the Deployment cannot be read. ConditionDegraded says why.
	ReasonDeploymentUnknown = "DeploymentUnknown"
)

// The reasons of ConditionProgressing.
const (
	// ReasonStartingReplicas (True): fewer than spec.size replicas are ready, and none of an earlier configuration is
	// left.
	ReasonStartingReplicas = "StartingReplicas"

	// ReasonRollingOut (True): replicas of an earlier configuration, or from before a restart by kubectl, are being replaced.
	ReasonRollingOut = "RollingOut"

	// ReasonRemovingReplicas (True): there are more replicas than spec.size.
	ReasonRemovingReplicas = "RemovingReplicas"

	// ReasonConverged (False): there are exactly spec.size replicas, all ready.
	ReasonConverged = "Converged"

	// ReasonBlocked (False): the Deployment cannot be created or changed as the spec requires, or it is paused while a rollout is due.
	// ConditionDegraded says why.
	ReasonBlocked = "Blocked"
)

// ReasonProgressDeadlineExceeded is the reason of ConditionProgressing (False) when there was no progress for longer than the
// operator's progress deadline, or the Deployment's. It is also the reason of ConditionDegraded (True), unless the pods show a
// more specific one.
const ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"

// ReasonDeploymentTerminating is the reason of ConditionAvailable (False) and ConditionProgressing (True) while the Deployment,
// or that of an earlier Memcached of the same name, is being deleted. A new Deployment is created when it is gone.
const ReasonDeploymentTerminating = "DeploymentTerminating"

// The reasons of ConditionDegraded. When several apply, the first in this list is reported.
const (
	// ReasonNameTaken (True): a Deployment that the Memcached does not own has its name, and is not one of the operator's that was
	// restored from a backup. The operator does not change it.
	ReasonNameTaken = "NameTaken"

	// ReasonFieldsOverwritten (True): another program, or an admission webhook or policy, keeps changing fields of the Deployment
	// that the operator sets. The operator sets them again after a time.
	ReasonFieldsOverwritten = "FieldsOverwritten"

	// ReasonInvalid (True): either the spec is outside the API's limits, and the operator waits for another spec; or the API
	// server or a webhook objects to a field of the Deployment, and the operator retries.
	ReasonInvalid = "Invalid"

	// ReasonQuotaExceeded (True): a ResourceQuota leaves no room for the Deployment or for one of its pods.
	ReasonQuotaExceeded = "QuotaExceeded"

	// ReasonForbidden (True): the operator may not make the Deployment as it should be. It lacks a permission, or a policy of the
	// cluster refuses the Deployment.
	ReasonForbidden = "Forbidden"

	// ReasonWriteFailed (True): the API server keeps failing to read, create or change the Deployment, for example because a
	// webhook of the cluster does not respond. The operator retries.
	ReasonWriteFailed = "WriteFailed"

	// ReasonPodsRefused (True): the API server refuses the pods, for example because of a LimitRange or of the Pod Security
	// level of the namespace.
	ReasonPodsRefused = "PodsRefused"

	// ReasonImagePullFailed (True): a pod cannot get the image of a container: memcached's, or one that others have added.
	ReasonImagePullFailed = "ImagePullFailed"

	// ReasonContainerStartFailed (True): a container of a pod cannot be created or started.
	ReasonContainerStartFailed = "ContainerStartFailed"

	// ReasonCrashLoop (True): a container of a pod exited, and has not been ready since. An init container counts if it failed.
	ReasonCrashLoop = "CrashLoop"

	// ReasonUnschedulable (True): no node can take a pod.
	ReasonUnschedulable = "Unschedulable"

	// ReasonDeploymentPaused (True): a rollout is due, but the Deployment is paused.
	ReasonDeploymentPaused = "DeploymentPaused"

	// ReasonContainerCreationStuck (True): the progress deadline has passed, and a container of a pod is still being created, or waits
	// for an init container.
	ReasonContainerCreationStuck = "ContainerCreationStuck"

	// ReasonProbeFailed (True): the progress deadline has passed, and a container runs in a pod that is not ready.
	ReasonProbeFailed = "ProbeFailed"

	// ReasonAsExpected (False): nothing is refused, and no pod of the current configuration reports a failure.
	ReasonAsExpected = "AsExpected"
)

// ReasonRecovered is the reason of the event which reports that ConditionDegraded is false again. When ConditionDegraded becomes
// true, the event has the reason of the condition.
const ReasonRecovered = "Recovered"

// ReasonUndecodable is the reason of the event about a Memcached that does not fit the API's Go types. It is not served, and has no
// new status, until it is repaired.
const ReasonUndecodable = "Undecodable"

// ConditionReason is one row of the table of conditions: in which case a condition has a status and a reason.
type ConditionReason struct {
	// Type is the condition's type.
	Type string
	// Status is the condition's status with this reason.
	Status metav1.ConditionStatus
	// Reason is the condition's reason.
	Reason string
	// When says, for users, when the operator reports this row.
	When string
}

// ConditionReasons returns every combination of type, status and reason that the operator reports, in the order of the
// documentation.
func ConditionReasons() []ConditionReason {
	return []ConditionReason{
		{ConditionAvailable, metav1.ConditionTrue, ReasonAllReplicasReady,
			"at least spec.size replicas are ready, of the current configuration or an earlier one"},
		{ConditionAvailable, metav1.ConditionFalse, ReasonReplicasNotReady,
			"fewer than spec.size replicas are ready"},
		{ConditionAvailable, metav1.ConditionFalse, ReasonDeploymentTerminating,
			"the Deployment, or that of an earlier Memcached of the same name, is being deleted"},
		{ConditionAvailable, metav1.ConditionUnknown, ReasonDeploymentUnknown,
			"the Deployment cannot be read; Degraded says why"},
		{ConditionProgressing, metav1.ConditionTrue, ReasonStartingReplicas,
			"fewer than spec.size replicas are ready"},
		{ConditionProgressing, metav1.ConditionTrue, ReasonRollingOut,
			"replicas of an earlier configuration, or from before kubectl rollout restart, are being replaced"},
		{ConditionProgressing, metav1.ConditionTrue, ReasonRemovingReplicas,
			"there are more replicas than spec.size"},
		{ConditionProgressing, metav1.ConditionTrue, ReasonDeploymentTerminating,
			"the Deployment, or that of an earlier Memcached of the same name, is being deleted; a new one follows when it is gone"},
		{ConditionProgressing, metav1.ConditionFalse, ReasonConverged,
			"there are exactly spec.size replicas, all ready"},
		{ConditionProgressing, metav1.ConditionFalse, ReasonBlocked,
			"the Deployment cannot be created or changed as the spec requires, or is paused while a rollout is due; Degraded says why"},
		{ConditionProgressing, metav1.ConditionFalse, ReasonProgressDeadlineExceeded,
			"there was no progress for longer than the progress deadline; Degraded reports what the pods show"},
		{ConditionDegraded, metav1.ConditionTrue, ReasonNameTaken,
			"there is a Deployment of the same name that the Memcached does not own"},
		{ConditionDegraded, metav1.ConditionTrue, ReasonFieldsOverwritten,
			"another program, or an admission webhook or policy, keeps changing fields of the Deployment that the operator sets"},
		{ConditionDegraded, metav1.ConditionTrue, ReasonInvalid,
			"the spec is invalid, or the API server or a webhook objects to a field of the Deployment"},
		{ConditionDegraded, metav1.ConditionTrue, ReasonQuotaExceeded,
			"a ResourceQuota leaves no room for the Deployment or for one of its pods"},
		{ConditionDegraded, metav1.ConditionTrue, ReasonForbidden,
			"the operator lacks a permission, or a policy of the cluster refuses the Deployment"},
		{ConditionDegraded, metav1.ConditionTrue, ReasonWriteFailed,
			"the API server keeps failing to read, create or change the Deployment, for example because a webhook of the cluster does not respond"},
		{ConditionDegraded, metav1.ConditionTrue, ReasonPodsRefused,
			"the API server refuses the pods, for example because of a LimitRange or of Pod Security admission"},
		{ConditionDegraded, metav1.ConditionTrue, ReasonImagePullFailed,
			"a pod cannot get the image of a container: memcached's, or one that others have added"},
		{ConditionDegraded, metav1.ConditionTrue, ReasonContainerStartFailed,
			"a container of a pod cannot be created or started"},
		{ConditionDegraded, metav1.ConditionTrue, ReasonCrashLoop,
			"a container of a pod exited, and has not been ready since; an init container counts if it failed"},
		{ConditionDegraded, metav1.ConditionTrue, ReasonUnschedulable,
			"no node can take a pod"},
		{ConditionDegraded, metav1.ConditionTrue, ReasonDeploymentPaused,
			"a rollout is due, but the Deployment is paused"},
		{ConditionDegraded, metav1.ConditionTrue, ReasonContainerCreationStuck,
			"the progress deadline has passed, and a container of a pod is still being created, or waits for an init container"},
		{ConditionDegraded, metav1.ConditionTrue, ReasonProbeFailed,
			"the progress deadline has passed, and a container runs in a pod that is not ready"},
		{ConditionDegraded, metav1.ConditionTrue, ReasonProgressDeadlineExceeded,
			"the progress deadline has passed, and no pod shows why"},
		{ConditionDegraded, metav1.ConditionFalse, ReasonAsExpected,
			"nothing is refused, and no pod of the current configuration reports a failure"},
	}
}
