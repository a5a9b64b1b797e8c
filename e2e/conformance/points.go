package conformance

import (
	"cmp"
	"context"
	"fmt"
	"testing"

	"github.com/example/operator-testbed/e2e/framework"
)

// contract is the label that holds the number of a point.
const contract = "contract"

// Point is a claim of the operator's contract.
type Point struct {
	// Number is the point of the contract that the claim belongs to.
	Number string
	// Claim is what should hold.
	Claim string

	check framework.Step
	// missing says what the API lacks, so that the claim does not apply.
	missing string
	// Last means that the check uses what the other checks have left behind, so it runs after them.
	Last bool
	// Slow means that the check takes longer than others, so it is not part of every run.
	Slow bool
	// alone says that the check stops the operator or a part of the cluster.
	alone bool
}

// Test checks the claim as a feature of the suite.
func (p Point) Test(t *testing.T, suite *framework.Suite) {
	t.Helper()
	feature := suite.Feature(p.Claim).WithLabel(contract, p.Number).Assess("holds", func(ctx context.Context, s *framework.Scope) {
		if p.missing != "" {
			s.DoesNotApply(p.missing)
		}
		p.check(ctx, s)
	})
	if p.alone && p.missing == "" {
		feature.TestAlone(t)
	} else {
		feature.Test(t)
	}
}

// lacks says that the API has no such thing, unless it is there.
func lacks(there bool, thing string) string {
	if there {
		return ""
	}
	return "the mapping names no " + thing
}

// Points returns all points, in the order of the operator's contract.
func (c Checks) Points() []Point {
	if c.sample() != nil {
		return c.anyPoints()
	}
	api := c.Describe()
	port := lacks(api.Fields.Port != "", "field for the port")
	progressing := lacks(api.Conditions.Progressing != "", "condition for progress")
	degraded := lacks(api.Conditions.Degraded != "", "condition for failures")
	sizes := lacks(api.within(largest) > smallest, "size but 1")
	deadline := lacks(len(api.DeadlineArgs) > 0, "arguments for a short progress deadline")
	from, to := c.scaling()
	return []Point{
		{Number: "size", Claim: "the Deployment has the size, up and down", missing: sizes, check: c.Size},
		{Number: "1", Claim: "Available is never True before the pods are ready", check: c.AvailableNotEarly},
		{Number: "1", Claim: "Available is never True before the Deployment counts the pods as ready", missing: sizes, alone: true, check: c.DeploymentAgrees},
		{Number: "1", Claim: "Available is False when the pods have failed", check: c.FailureShows},
		{Number: "1", Claim: "Available stays True in a rollout that loses no pod", missing: port, check: c.RolloutKeepsAvailable},
		{Number: "1", Claim: "Progressing is True in a rollout, and False only when it is over", missing: cmp.Or(port, progressing), check: c.RolloutProgresses},
		{Number: "1", Claim: "conditions say which generation they are about", missing: sizes, check: c.ObservedGeneration},
		{Number: "2", Claim: "a changed number of replicas is put back", check: c.Replicas},
		{Number: "2", Claim: "a changed image is put back", check: c.Image},
		{Number: "2", Claim: "a changed security context is put back", check: c.SecurityContext},
		{Number: "2", Claim: "a removed owner reference is put back", check: c.Owner},
		{Number: "2", Claim: "a deleted Deployment comes back", check: c.DeletedDeployment},
		{Number: "2", Claim: "fields of others are left alone", missing: sizes, check: c.ForeignFields},
		{Number: "3", Claim: "memcached listens on the port, also after a change", missing: port, check: c.Port},
		{Number: "4", Claim: "two objects in a namespace share no pods", check: c.Selectors},
		{Number: "5", Claim: "a foreign Deployment of the same name is left alone, and reported", check: c.ForeignDeployment},
		{Number: "6", Claim: "at most 3 writes make one of size 1 Available", check: c.FewWrites(smallest)},
		{Number: "6", Claim: fmt.Sprintf("at most 3 writes make one of size %d Available", api.within(medium)), check: c.FewWrites(medium)},
		{Number: "6", Claim: fmt.Sprintf("at most 4 writes take a new one from size %d to %d", from, to), missing: sizes, check: c.FewScaleWrites},
		{Number: "6", Claim: "no write follows from a change that does not matter", check: c.Quiet},
		{Number: "6", Claim: "at most 1 write on delete", check: c.FewDeleteWrites},
		{Number: "6", Claim: "no write is in conflict", check: c.NoConflict},
		{Number: "6", Claim: "a restart writes nothing", alone: true, check: c.NoRestartWrites},
		{Number: "7", Claim: "no finalizer, where garbage collection does the work", check: c.NoFinalizer},
		{Number: "8", Claim: "a quota that refuses the Deployment is reported, and the object recovers", check: c.Quota},
		{Number: "8", Claim: "a rollout that exceeds its progress deadline is reported, Progressing ends, and the object recovers", check: c.RolloutDeadline},
		{Number: "8", Claim: "pods that fail after a rollout do not keep Progressing True", missing: cmp.Or(progressing, deadline), alone: true, check: c.OwnDeadline},
		{Number: "8", Claim: "a paused Deployment is reported while a rollout is due, and only then", missing: cmp.Or(port, degraded, sizes), check: c.Paused},
		{Number: "9", Claim: "owner references pass OwnerReferencesPermissionEnforcement", check: c.OwnerPermission},
		{Number: "10", Claim: "a deletion in the background leaves nothing", check: c.BackgroundDeletion},
		{Number: "10", Claim: "a deletion in the foreground leaves nothing", check: c.ForegroundDeletion},
		{Number: "10", Claim: "a deletion while the operator is down leaves nothing", alone: true, check: c.DeletionWhileDown},
	}
}
