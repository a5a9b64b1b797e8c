// Package controller books a flight for each FlightTicket. It is written in plain client-go, in the shape of
// sample-controller: an informer, a work queue, workers.
package controller

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/example/operator-testbed/tutorial/informer-queue/internal/airline"
)

// fieldManager is the name that the API server records as the manager of the fields that the controller sets.
const fieldManager = "flight-operator"

// byDestination is the index that finds tickets by where they lead.
const byDestination = "byDestination"

// Controller books a flight for each FlightTicket.
type Controller struct {
	client   dynamic.Interface
	airline  airline.Client
	informer cache.SharedIndexInformer
	queue    workqueue.TypedRateLimitingInterface[string]
}

// New returns a controller that has not started yet.
func New(client dynamic.Interface, books airline.Client) (*Controller, error) {
	c := &Controller{
		client:  client,
		airline: books,
		informer: dynamicinformer.NewFilteredDynamicInformer(client, tickets, metav1.NamespaceAll, 0,
			cache.Indexers{byDestination: destination}, nil).Informer(),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	_, err := c.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    c.enqueue,
		UpdateFunc: func(_, after any) { c.enqueue(after) },
	})
	return c, err
}

// destination is the index function of byDestination. A ticket that can't be read has no entry: the indexer panics if an index
// function returns an error, and no other ticket would be booked.
func destination(object any) ([]string, error) {
	var places []string
	if t, err := toTicket(object); err == nil {
		places = append(places, t.Spec.To)
	}
	return places, nil
}

// enqueue puts the name of an object into the queue, as namespace/name.
func (c *Controller) enqueue(object any) {
	key, err := cache.MetaNamespaceKeyFunc(object)
	if err != nil {
		slog.Error("An object without a name", "error", err)
		return
	}
	c.queue.Add(key)
}

// Run watches and works until ctx is done.
func (c *Controller) Run(ctx context.Context, workers int) error {
	var running sync.WaitGroup
	defer running.Wait()
	defer c.queue.ShutDown()
	running.Go(func() { c.informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), c.informer.HasSynced) {
		return errors.New("stopped before the cache had all tickets")
	}
	for range workers {
		running.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	return nil
}

// Ready returns whether the cache has all tickets.
func (c *Controller) Ready() bool { return c.informer.HasSynced() }

// next takes a name out of the queue and processes it. It returns false when the queue is shut down.
func (c *Controller) next(ctx context.Context) bool {
	key, shutDown := c.queue.Get()
	if shutDown {
		return false
	}
	defer c.queue.Done(key)
	if err := c.reconcile(ctx, key); err != nil {
		slog.Error("Again later", "ticket", key, "error", err)
		c.queue.AddRateLimited(key)
		return true
	}
	c.queue.Forget(key)
	return true
}

// reconcile ensures that the ticket of that name has a booking.
func (c *Controller) reconcile(ctx context.Context, key string) error {
	object, exists, err := c.informer.GetIndexer().GetByKey(key)
	if err != nil || !exists {
		return err
	}
	t, err := toTicket(object)
	if err != nil {
		return err
	}
	if t.Status.Booking != "" {
		return nil
	}
	booking, err := c.airline.Book(ctx, string(t.UID), t.Spec)
	if err != nil {
		return err
	}
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	if _, err := c.client.Resource(tickets).Namespace(t.Namespace).ApplyStatus(ctx, t.Name, booked(t, booking), options); err != nil {
		return err
	}
	there, err := c.informer.GetIndexer().ByIndex(byDestination, t.Spec.To)
	slog.Info("Booked", "ticket", key, "booking", booking, "to", t.Spec.To, "ticketsThere", len(there))
	return err
}
