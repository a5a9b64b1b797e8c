package conformance

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// point is a claim of the contract and how it is checked.
type point struct {
	number string
	claim  string
	// needs are the optional parts of a mapping without which the point does not apply.
	needs []need
	// alone says that the check stops the operator or a part of the cluster, so that no other may run meanwhile.
	alone bool
	check func(context.Context, *scope)
}

// need is an optional part of a mapping.
type need struct {
	what string
	met  func(Mapping) bool
}

var (
	port         = need{"field for the port", func(m Mapping) bool { return m.Fields.Port != "" }}
	progressing  = need{"condition for progress", func(m Mapping) bool { return m.Conditions.Progressing != "" }}
	degraded     = need{"condition for failures", func(m Mapping) bool { return m.Conditions.Degraded != "" }}
	deadlineArgs = need{"arguments for a short progress deadline", func(m Mapping) bool { return len(m.DeadlineArgs) > 0 }}
)

// points are in the order of the operator's contract.
var points = []point{
	{number: "size", claim: "the Deployment has the size, up and down", check: checkSize},
	{number: "1", claim: "Available is never True before the pods are ready", check: checkRisingEdge},
	{number: "1", claim: "Available is never True before the Deployment counts the pods as ready", alone: true, check: checkDeploymentAgrees},
	{number: "1", claim: "Available is False when the pods have failed", check: checkFallingEdge},
	{number: "1", claim: "Available stays True in a rollout that loses no pod", needs: []need{port}, check: checkRolloutKeepsAvailable},
	{number: "1", claim: "Progressing is True in a rollout, and False only when it is over", needs: []need{port, progressing}, check: checkRolloutProgresses},
	{number: "1", claim: "conditions say which generation they are about", check: checkObservedGeneration},
	{number: "2", claim: "a changed number of replicas is put back", check: drift(driftReplicas)},
	{number: "2", claim: "a changed image is put back", check: drift(driftImage)},
	{number: "2", claim: "a changed security context is put back", check: drift(driftSecurityContext)},
	{number: "2", claim: "a removed owner reference is put back", check: drift(driftOwner)},
	{number: "2", claim: "a deleted Deployment comes back", check: checkDeploymentComesBack},
	{number: "2", claim: "fields of others are left alone", check: checkForeignField},
	{number: "3", claim: "memcached listens on the port, also after a change", needs: []need{port}, check: checkPort},
	{number: "4", claim: "two objects in a namespace share no pods", check: checkSelectors},
	{number: "5", claim: "a stranger's Deployment of the same name is left alone, and reported", check: checkStranger},
	{number: "6", claim: "at most 3 writes make one of size 1 Available", check: budget(1, 3)},
	{number: "6", claim: "at most 3 writes make one of size 3 Available", check: budget(3, 3)},
	{number: "6", claim: "at most 4 writes take a new one from size 3 to 5", check: checkScaleWrites},
	{number: "6", claim: "no write follows from a change that does not matter", check: checkQuiet},
	{number: "6", claim: "at most 1 write on delete", check: checkDeleteWrites},
	{number: "6", claim: "no write is in conflict", check: checkConflicts},
	{number: "6", claim: "a restart writes nothing", alone: true, check: checkRestart},
	{number: "7", claim: "no finalizer, where garbage collection does the work", check: checkFinalizer},
	{number: "8", claim: "a quota that refuses the Deployment is reported, and the object recovers", check: checkQuota},
	{number: "8", claim: "a rollout that exceeds its progress deadline is reported, Progressing ends, and the object recovers", check: checkRolloutDeadline},
	{number: "8", claim: "pods that fail after a rollout do not keep Progressing True", needs: []need{progressing, deadlineArgs}, alone: true, check: checkOwnDeadline},
	{number: "8", claim: "a paused Deployment is reported while a rollout is due, and only then", needs: []need{port, degraded}, check: checkPaused},
	{number: "10", claim: "a deletion in the background leaves nothing", check: deletion(metav1.DeletePropagationBackground)},
	{number: "10", claim: "a deletion in the foreground leaves nothing", check: deletion(metav1.DeletePropagationForeground)},
	{number: "10", claim: "a deletion while the operator is down leaves nothing", alone: true, check: checkDeletionWhileDown},
}
