package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	acmetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	accachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/metrics"
)

// ensureStatus writes the status of the snapshot's Memcached, unless it is stored already. It returns how long the write is held
// back, if the change is mere progress, or if others keep editing the status.
func (r *MemcachedReconciler) ensureStatus(ctx context.Context, s snapshot, status cachev1alpha1.MemcachedStatus) (heldBack time.Duration, err error) {
	if sameStatus(status, s.stored) && sameTimes(s.previous, s.stored, r.lastWrites.timeTolerance(s.memcached, s.now, r.RecheckInterval)) {
		r.lastWrites.nothingHeldBack(s.memcached)
		r.lastWrites.recordStored(s.memcached, s.stored)
		return 0, nil
	}
	switch {
	case sameStatus(status, s.previous):
		heldBack = r.lastWrites.holdBackRepair(s.memcached, s.now, r.ProgressInterval, r.RecheckInterval)
	case isMereProgress(s.previous, status) && s.refused.reason == "":
		heldBack = r.lastWrites.holdBack(s.memcached, s.now, r.ProgressInterval)
	}
	if heldBack > 0 {
		return heldBack, nil
	}
	status = withTransitionTimes(status, s.previous, metav1.NewTime(s.now))
	patch, err := statusPatch(s.memcached, s.stored, status)
	if err != nil {
		return 0, err
	}
	written := s.memcached.DeepCopy()
	err = r.Status().Patch(ctx, written, patch, client.FieldOwner(cachev1alpha1.FieldManager))
	if apierrors.IsInvalid(err) {
		// The UID is usually another one, because the Memcached was deleted and created again under the same name.
		err = errors.Join(err, r.checkExists(ctx, s.memcached))
	}
	if apierrors.IsNotFound(err) || errors.Is(err, errGone) {
		// The Memcached whose status this is no longer exists.
		return 0, nil
	}
	if err != nil {
		if !isRefused(err) {
			r.lastWrites.recordUnanswered(s.memcached, s.previous)
		}
		return 0, err
	}
	r.lastWrites.recordStatus(s.memcached, written.Status, written.ResourceVersion)
	if sameStatus(status, s.stored) {
		r.lastWrites.recordTimesRepaired(s.memcached, s.now)
	}
	metrics.StatusWrites.Inc()
	if r.lastWrites.recordAvailability(s.memcached, s.previous, status) {
		metrics.TimeToAvailable.Observe(time.Since(s.memcached.CreationTimestamp.Time).Seconds())
	}
	announce(r.Recorder, s.memcached, s.previous, status)
	return 0, nil
}

// isRefused reports whether the API server answered a write with an error that says that nothing was stored. Behind any other error,
// such as a lost connection or a timeout, the write may have been stored.
func isRefused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= http.StatusBadRequest && status.Status().Code < http.StatusInternalServerError
}

// readUnanswered reads from the API server whether the last status sent for mc was stored, if no answer says so. The cache may be
// behind, and a status computed from it would repeat the write with other transition times.
func (r *MemcachedReconciler) readUnanswered(ctx context.Context, mc *cachev1alpha1.Memcached) error {
	if !r.lastWrites.isUnanswered(mc) {
		return nil
	}
	live := &cachev1alpha1.Memcached{}
	if err := r.APIReader.Get(ctx, nameOf(mc), live); err != nil || live.UID != mc.UID {
		return client.IgnoreNotFound(err)
	}
	r.lastWrites.recordStatus(mc, live.Status, live.ResourceVersion)
	return nil
}

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
