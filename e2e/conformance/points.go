package conformance

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// point is a claim of the contract and how it is checked.
type point struct {
	number string
	claim  string
	// needsPort says that the claim is about the port.
	needsPort bool
	// alone says that the check stops the operator, so that no other may run meanwhile.
	alone bool
	check func(context.Context, *scope)
}

// points are in the order of the operator's contract.
var points = []point{
	{number: "size", claim: "the Deployment has the size, up and down", check: checkSize},
	{number: "1", claim: "Available is never True before the pods are ready", check: checkRisingEdge},
	{number: "1", claim: "Available is False when the pods have failed", check: checkFallingEdge},
	{number: "1", claim: "conditions say which generation they are about", check: checkObservedGeneration},
	{number: "2", claim: "a changed number of replicas is put back", check: drift(driftReplicas)},
	{number: "2", claim: "a changed image is put back", check: drift(driftImage)},
	{number: "2", claim: "a changed security context is put back", check: drift(driftSecurityContext)},
	{number: "2", claim: "a removed owner reference is put back", check: drift(driftOwner)},
	{number: "2", claim: "a deleted Deployment comes back", check: checkDeploymentComesBack},
	{number: "2", claim: "fields of others are left alone", check: checkForeignField},
	{number: "3", claim: "memcached listens on the port, also after a change", needsPort: true, check: checkPort},
	{number: "4", claim: "two objects in a namespace share no pods", check: checkSelectors},
	{number: "5", claim: "a stranger's Deployment of the same name is left alone, and reported", check: checkStranger},
	{number: "6", claim: "at most 3 writes make one of size 1 Available", check: budget(1, 3)},
	{number: "6", claim: "at most 5 writes make one of size 3 Available", check: budget(3, 5)},
	{number: "6", claim: "no write follows from a change that does not matter", check: checkQuiet},
	{number: "6", claim: "at most 1 write on delete", check: checkDeleteWrites},
	{number: "6", claim: "no write is in conflict", check: checkConflicts},
	{number: "6", claim: "a restart writes nothing", alone: true, check: checkRestart},
	{number: "7", claim: "no finalizer, where garbage collection does the work", check: checkFinalizer},
	{number: "8", claim: "a quota that refuses the Deployment is reported, and the object recovers", check: checkQuota},
	{number: "10", claim: "a deletion in the background leaves nothing", check: deletion(metav1.DeletePropagationBackground)},
	{number: "10", claim: "a deletion in the foreground leaves nothing", check: deletion(metav1.DeletePropagationForeground)},
	{number: "10", claim: "a deletion while the operator is down leaves nothing", alone: true, check: checkDeletionWhileDown},
}
