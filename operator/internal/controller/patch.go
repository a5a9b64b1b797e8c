package controller

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	acmetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	accachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1/applyconfiguration/api/v1alpha1"
)

// statusPatch returns the patch that makes status the status of mc, whose newest known status is stored. It changes only what the
// operator owns, so the conditions of others survive. It tests the UID first: a Memcached that was deleted and created again under
// the same name does not get its predecessor's status. A server-side apply can't do that: the API server takes the metadata of the
// live object, UID included, before it compares anything (PrepareForUpdate in
// k8s.io/apiextensions-apiserver/pkg/registry/customresource/status_strategy.go).
func statusPatch(mc *cachev1alpha1.Memcached, stored, status cachev1alpha1.MemcachedStatus) (client.Patch, error) {
	operations := []map[string]any{{"op": "test", "path": "/metadata/uid", "value": mc.UID}}
	add := func(path string, value any) {
		operations = append(operations, map[string]any{"op": "add", "path": path, "value": value})
	}
	var conditions []*acmetav1.ConditionApplyConfiguration
	for _, condition := range status.Conditions {
		if slices.Contains(conditionTypes, condition.Type) {
			conditions = append(conditions, acmetav1.Condition().
				WithType(condition.Type).
				WithStatus(condition.Status).
				WithObservedGeneration(condition.ObservedGeneration).
				WithLastTransitionTime(condition.LastTransitionTime).
				WithReason(condition.Reason).
				WithMessage(condition.Message))
		}
	}

	if equality.Semantic.DeepEqual(stored, cachev1alpha1.MemcachedStatus{}) {
		// Unlike a MemcachedStatus, the apply configuration keeps zero values, so that a user sees "0" and not nothing.
		add("/status", accachev1alpha1.MemcachedStatus().
			WithNodes(status.Nodes...).
			WithReplicas(status.Replicas).
			WithReadyReplicas(status.ReadyReplicas).
			WithSelector(status.Selector).
			WithConditions(conditions...))
	} else {
		add("/status/nodes", append([]string{}, status.Nodes...))
		add("/status/replicas", status.Replicas)
		add("/status/readyReplicas", status.ReadyReplicas)
		add("/status/selector", status.Selector)
		if len(stored.Conditions) == 0 {
			add("/status/conditions", []any{})
		}
		for _, condition := range conditions {
			i := slices.IndexFunc(stored.Conditions, func(found metav1.Condition) bool { return found.Type == *condition.Type })
			if i < 0 {
				add("/status/conditions/-", condition)
			} else {
				// A patch addresses the elements of a list by their index. If others have moved a condition meanwhile, the API server
				// refuses the patch, and the next attempt knows the new order.
				path := fmt.Sprintf("/status/conditions/%d", i)
				operations = append(operations,
					map[string]any{"op": "test", "path": path + "/type", "value": condition.Type},
					map[string]any{"op": "replace", "path": path, "value": condition})
			}
		}
	}
	patch, err := json.Marshal(operations)
	return client.RawPatch(types.JSONPatchType, patch), err
}
