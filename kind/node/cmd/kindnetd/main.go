// Command kindnetd is the network daemon of a node: it takes the place of kind's
// own kindnetd, whose module no Go module proxy serves, and uses kind's manifest
// and permissions. It
//
//   - writes the CNI configuration for the node's pod CIDR,
//   - keeps a route to every other node's pod CIDR, and removes those of nodes
//     that are gone,
//   - gives packets from pods to addresses outside the cluster the node's address.
//
// It supports IPv4 only, and enforces no NetworkPolicy.
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
	// Nothing stops the handler, because the process exits after the first signal.
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
		return errors.New("HOST_IP and POD_SUBNET must be IPv4: this network daemon does not support IPv6")
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	// The Service's address needs kube-proxy, which may need the network first.
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
		return fmt.Errorf("add the nftables rule for packets that leave the cluster: %w", err)
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
