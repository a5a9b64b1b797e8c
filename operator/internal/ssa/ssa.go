// Package ssa sets the fields of an apply configuration on a Deployment, by server-side apply, if any of them differ.
//
// [Drift] compares without a request. [Apply] sends the requests. Both rest on these facts:
//
//   - A server-side apply sets the fields of the configuration. It removes a field that the same manager applied earlier, that the
//     configuration no longer sets, and that nobody else owns. All other fields stay.
//     (https://kubernetes.io/docs/reference/using-api/server-side-apply/, as of Kubernetes v1.37)
//   - A POST is not an apply: what a manager set by creating the object, it owns by an "Update". A later apply removes none of
//     that, unless its ownership is first changed to "Apply". Apply does so only if a field is to go away, which an annotation of
//     the Deployment shows (see Fields).
//   - Elements of some lists are merged by keys (x-kubernetes-list-map-keys in the OpenAPI schema). A port that somebody edits gets
//     another key, so to server-side apply it is an element that somebody added. The API server refuses two ports of one name.
//   - An apply with a UID fails if the object is gone. Without one, it would create the object.
package ssa

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	acappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/example/operator-testbed/operator/internal/metrics"
)

// ErrOwnershipMoved is what Apply returns when the owners of the Deployment's fields have changed since it was read. Read the
// Deployment again, and retry.
var ErrOwnershipMoved = errors.New("take over the fields of the Deployment")

// Apply sets the fields of desired on live, which was read from the API server. It removes the fields that the owner set before
// and desired does not set; all other fields stay. It returns the Deployment as the API server stored it, and changes neither
// live nor desired.
func Apply(ctx context.Context, c client.Client, owner client.FieldOwner, live *appsv1.Deployment, desired *acappsv1.DeploymentApplyConfiguration) (*appsv1.Deployment, error) {
	patch, err := takeOver(live.ManagedFields, string(owner), exclusiveLists(desired), setsSameFields(live, desired))
	if err != nil {
		return nil, err
	}
	if patch != nil {
		err := c.Patch(ctx, live.DeepCopy(), client.RawPatch(types.JSONPatchType, patch), owner)
		if apierrors.IsInvalid(err) {
			return nil, fmt.Errorf("%w: %w", ErrOwnershipMoved, err)
		}
		if err != nil {
			return nil, err
		}
		metrics.DeploymentWrites.WithLabelValues(metrics.OperationTakeOver).Inc()
	}
	// The client overwrites its argument with the API server's response.
	applied, err := convert[acappsv1.DeploymentApplyConfiguration](desired)
	if err != nil {
		return nil, err
	}
	applied.WithUID(live.UID)
	if err := c.Apply(ctx, applied, owner, client.ForceOwnership); err != nil {
		return nil, err
	}
	metrics.DeploymentWrites.WithLabelValues(metrics.OperationApply).Inc()
	return Deployment(applied)
}

// Deployment returns an apply configuration as a Deployment, which can be created or compared.
func Deployment(applyConfiguration *acappsv1.DeploymentApplyConfiguration) (*appsv1.Deployment, error) {
	return convert[appsv1.Deployment](applyConfiguration)
}

// exclusiveLists returns the paths of the exclusive lists (see mapList) of the containers that desired sets.
func exclusiveLists(desired *acappsv1.DeploymentApplyConfiguration) []fieldpath.Path {
	var paths []fieldpath.Path
	for _, container := range desired.Spec.Template.Spec.Containers {
		for name, list := range mapLists {
			if list.exclusive {
				paths = append(paths, fieldpath.MakePathOrDie("spec", "template", "spec", "containers",
					fieldpath.KeyByFields("name", *container.Name), name))
			}
		}
	}
	return paths
}

// convert returns a value of another type with the same JSON.
func convert[T any](value any) (*T, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	result := new(T)
	return result, json.Unmarshal(text, result)
}
