package v1alpha1

// The types of the conditions of a Memcached.
const (
	// ConditionAvailable is true when as many pods are ready as are wanted, of the current template or an earlier one.
	ConditionAvailable = "Available"
	// ConditionProgressing is true while the operator or Kubernetes is on its way to what is wanted.
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
	// ReasonDeploymentRefused is why Degraded is true when the API server takes no Deployment of the operator's.
	ReasonDeploymentRefused = "DeploymentRefused"
	// ReasonChildRefused is why Degraded is true when the API server refuses a Service or a ConfigMap of the operator's.
	ReasonChildRefused = "ChildRefused"
	// ReasonNameTaken is why Degraded is true when a foreign object has a name that the Memcached needs.
	ReasonNameTaken = "NameTaken"
	// ReasonSecretMissing is why Degraded is true when the Secret with the users does not exist or holds none.
	ReasonSecretMissing = "SecretMissing"
	// ReasonPodsRefused is why Degraded is true when the API server takes no pods of the Deployment's.
	ReasonPodsRefused = "PodsRefused"
	// ReasonPodsFailing is why Degraded is true when pods can't start.
	ReasonPodsFailing = "PodsFailing"
	// ReasonAsExpected is why Degraded is false.
	ReasonAsExpected = "AsExpected"
)
