// Command kindnetd is the network daemon of a node: it takes the place of kind's
// own kindnetd, whose module no Go module proxy serves, behind kind's manifest
// and with its rights. It
//
//   - writes the CNI configuration for the node's pod CIDR,
//   - keeps a route to every other node's pod CIDR, and removes those of nodes
//     that are gone,
//   - gives pods that talk to the world outside the cluster the node's address.
//
// It knows IPv4 only, and enforces no NetworkPolicy.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func main() {
	// The process ends with the signal's work done: nobody takes the handler away.
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	if err := run(ctx); err != nil {
		slog.Error("giving up", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	host, err := netip.ParseAddr(os.Getenv("HOST_IP"))
	if err != nil {
		return fmt.Errorf("HOST_IP must be the node's address: %w", err)
	}
	pods, err := netip.ParsePrefix(os.Getenv("POD_SUBNET"))
	if err != nil {
		return fmt.Errorf("POD_SUBNET must be the CIDR of all pods: %w", err)
	}
	if !host.Is4() || !pods.Addr().Is4() {
		return errors.New("HOST_IP and POD_SUBNET must be IPv4: this network daemon knows no IPv6")
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	// kube-proxy, which would lead there, may need the network first.
	if endpoint := os.Getenv("CONTROL_PLANE_ENDPOINT"); endpoint != "" {
		config.Host = "https://" + endpoint
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	mtu, err := linkMTU(host)
	if err != nil {
		return err
	}
	if err := masquerade(pods); err != nil {
		return fmt.Errorf("adding the nftables rule for traffic that leaves the cluster: %w", err)
	}
	return follow(ctx, clients, func(peers []node) error {
		for _, n := range peers {
			if n.address == host {
				if err := writeConfiguration(configurationFile, configuration(n.pods, mtu)); err != nil {
					return err
				}
			}
		}
		return syncRoutes(routes(peers, host))
	})
}
