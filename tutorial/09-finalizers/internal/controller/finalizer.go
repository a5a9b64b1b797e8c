package controller

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// finalizer keeps a ticket from going for as long as the airline may have a booking for it.
const finalizer = "flights.com/booking"

// cancel sees to it that the airline has no booking for a ticket that is being deleted, and lets the ticket go.
func (c *Controller) cancel(ctx context.Context, t *ticket) error {
	if !slices.Contains(t.Finalizers, finalizer) {
		return nil // never booked, or canceled already: somebody else's finalizer keeps it
	}
	// Whatever its status says: the airline may have booked, and its answer got lost.
	if err := c.airline.Cancel(ctx, string(t.UID)); err != nil {
		return errors.Join(err, c.report(ctx, t, metav1.ConditionUnknown, reasonNotCanceled, err.Error()))
	}
	slog.Info("Canceled", "ticket", t.Namespace+"/"+t.Name, "booking", t.Status.Booking)
	return c.removeFinalizer(ctx, t)
}

// addFinalizer adds the controller's finalizer to the others.
func (c *Controller) addFinalizer(ctx context.Context, t *ticket) error {
	return c.setFinalizers(ctx, t, append(slices.Clone(t.Finalizers), finalizer))
}

// removeFinalizer removes the controller's finalizer, and no other.
func (c *Controller) removeFinalizer(ctx context.Context, t *ticket) error {
	others := slices.DeleteFunc(slices.Clone(t.Finalizers), func(name string) bool { return name == finalizer })
	err := c.setFinalizers(ctx, t, others)
	if apierrors.IsNotFound(err) { // it has gone: the cache is a moment behind
		return nil
	}
	return err
}

// setFinalizers sets the list of finalizers, if the ticket is still as t says: nobody else's change of the list gets lost.
func (c *Controller) setFinalizers(ctx context.Context, t *ticket, finalizers []string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"finalizers": finalizers, "resourceVersion": t.ResourceVersion, "uid": t.UID,
	}})
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: fieldManager}
	_, err = c.client.Resource(tickets).Namespace(t.Namespace).Patch(ctx, t.Name, types.MergePatchType, patch, options)
	return err
}
