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

// cancel cancels the booking of a ticket that is being deleted, and then removes the finalizer.
func (c *Controller) cancel(ctx context.Context, t *ticket) error {
	if !slices.Contains(t.Finalizers, finalizer) {
		return nil // never booked, or already canceled: another program's finalizer keeps the ticket
	}
	// Even without a booking in the status, the airline may have booked the flight, because its response may have been lost.
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
	if apierrors.IsNotFound(err) { // it is gone, and the cache lags behind
		return nil
	}
	return err
}

// setFinalizers replaces the list of finalizers, unless the ticket has changed since t was read, so that no other change is lost.
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
