package main

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// node is what the network needs to know of a node.
type node struct {
	address netip.Addr
	pods    netip.Prefix
}

// known returns the nodes that have an address and a pod CIDR already.
func known(all []*corev1.Node) []node {
	var nodes []node
	for _, n := range all {
		pods, err := netip.ParsePrefix(n.Spec.PodCIDR)
		address, ok := internalIP(n)
		if err == nil && ok {
			nodes = append(nodes, node{address: address, pods: pods})
		}
	}
	return nodes
}

// internalIP returns the node's first IPv4 address inside the cluster.
func internalIP(n *corev1.Node) (netip.Addr, bool) {
	for _, a := range n.Status.Addresses {
		if a.Type != corev1.NodeInternalIP {
			continue
		}
		if address, err := netip.ParseAddr(a.Address); err == nil && address.Is4() {
			return address, true
		}
	}
	return netip.Addr{}, false
}

// follow calls sync with the cluster's nodes now, whenever they change, and
// again, after a growing pause, when sync has failed. It returns when ctx is done.
func follow(ctx context.Context, clients kubernetes.Interface, sync func([]node) error) error {
	factory := informers.NewSharedInformerFactory(clients, 0)
	nodes := factory.Core().V1().Nodes()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	const all = "all nodes"
	_, err := nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { queue.Add(all) },
		UpdateFunc: func(any, any) { queue.Add(all) },
		DeleteFunc: func(any) { queue.Add(all) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), nodes.Informer().HasSynced) {
		return errors.New("stopped before the nodes were read")
	}
	context.AfterFunc(ctx, queue.ShutDown)
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return nil
		}
		list, err := nodes.Lister().List(labels.Everything())
		if err == nil {
			err = sync(known(list))
		}
		if err != nil {
			slog.Error("trying again", "error", err)
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
		}
		queue.Done(key)
	}
}
