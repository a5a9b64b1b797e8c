package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// protocol marks the routes that are ours, so that no other is ever removed. The
// number is free in the kernel's and in iproute2's lists.
const protocol = 155

// routes are the ways to the pods of the other nodes: pod CIDR to node address.
func routes(nodes []node, host netip.Addr) map[netip.Prefix]netip.Addr {
	wanted := map[netip.Prefix]netip.Addr{}
	for _, n := range nodes {
		if n.address != host {
			wanted[n.pods.Masked()] = n.address
		}
	}
	return wanted
}

// syncRoutes makes our routes those that are wanted.
func syncRoutes(wanted map[netip.Prefix]netip.Addr) error {
	list, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Protocol: protocol}, netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return fmt.Errorf("listing the routes: %w", err)
	}
	present := gateways(list)
	var failed []error
	for destination, gateway := range wanted {
		if present[destination] == gateway {
			continue
		}
		if err := netlink.RouteReplace(route(destination, gateway)); err != nil {
			failed = append(failed, fmt.Errorf("adding the route to %s via %s: %w", destination, gateway, err))
			continue
		}
		slog.Info("added a route", "to", destination, "via", gateway)
	}
	for destination, gateway := range present {
		if _, isWanted := wanted[destination]; isWanted {
			continue
		}
		// ESRCH says that it is gone already.
		if err := netlink.RouteDel(route(destination, gateway)); err != nil && !errors.Is(err, syscall.ESRCH) {
			failed = append(failed, fmt.Errorf("removing the route to %s: %w", destination, err))
			continue
		}
		slog.Info("removed a route", "to", destination)
	}
	return errors.Join(failed...)
}

// gateways are where routes lead, by their destinations.
func gateways(list []netlink.Route) map[netip.Prefix]netip.Addr {
	found := map[netip.Prefix]netip.Addr{}
	for _, r := range list {
		destination, err := netip.ParsePrefix(r.Dst.String())
		gateway, ok := netip.AddrFromSlice(r.Gw)
		if err == nil && ok {
			found[destination] = gateway.Unmap()
		}
	}
	return found
}

func route(destination netip.Prefix, gateway netip.Addr) *netlink.Route {
	return &netlink.Route{Dst: ipNet(destination), Gw: gateway.AsSlice(), Protocol: protocol}
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// linkMTU is the MTU of the link that has an address: what is sent between nodes
// leaves through it.
func linkMTU(address netip.Addr) (int, error) {
	addresses, err := netlink.AddrList(nil, unix.AF_INET)
	if err != nil {
		return 0, fmt.Errorf("listing the node's addresses: %w", err)
	}
	for _, a := range addresses {
		if a.IP.Equal(address.AsSlice()) {
			link, err := netlink.LinkByIndex(a.LinkIndex)
			if err != nil {
				return 0, err
			}
			return link.Attrs().MTU, nil
		}
	}
	return 0, fmt.Errorf("no link of this node has its address %s", address)
}
