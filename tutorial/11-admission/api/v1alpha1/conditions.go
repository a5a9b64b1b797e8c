package v1alpha1

// The types of the conditions of a Memcached.
const (
	// ConditionAvailable is true when as many pods are ready as the spec asks for, from the current template or an earlier one.
	ConditionAvailable = "Available"
	// ConditionProgressing is true while the operator or Kubernetes still works towards the desired state.
	ConditionProgressing = "Progressing"
	// ConditionDegraded is true when something fails that is unlikely to recover soon on its own.
	ConditionDegraded = "Degraded"
)

// The reasons of the conditions of a Memcached.
const (
	// ReasonAllReplicasReady is why Available is true.
	ReasonAllReplicasReady = "AllReplicasReady"
	// ReasonReplicasNotReady is why Available is false.
	ReasonReplicasNotReady = "ReplicasNotReady"
	// ReasonRollingOut is why Progressing is true.
	ReasonRollingOut = "RollingOut"
	// ReasonConverged is why Progressing is false.
	ReasonConverged = "Converged"
	// ReasonDeploymentRefused is why Degraded is true when the API server refuses the Deployment.
	ReasonDeploymentRefused = "DeploymentRefused"
	// ReasonPodsRefused is why Degraded is true when the API server refuses the Deployment's pods.
	ReasonPodsRefused = "PodsRefused"
	// ReasonPodsFailing is why Degraded is true when pods can't start.
	ReasonPodsFailing = "PodsFailing"
	// ReasonAsExpected is why Degraded is false.
	ReasonAsExpected = "AsExpected"
)
