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
	present, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Protocol: protocol}, netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return fmt.Errorf("listing the routes: %w", err)
	}
	var failed []error
	for destination, gateway := range wanted {
		if contains(present, destination, gateway) {
			continue
		}
		if err := netlink.RouteReplace(&netlink.Route{Dst: ipNet(destination), Gw: gateway.AsSlice(), Protocol: protocol}); err != nil {
			failed = append(failed, fmt.Errorf("adding the route to %s via %s: %w", destination, gateway, err))
			continue
		}
		slog.Info("added a route", "to", destination, "via", gateway)
	}
	for _, route := range stale(present, wanted) {
		// ESRCH says that it is gone already.
		if err := netlink.RouteDel(&route); err != nil && !errors.Is(err, syscall.ESRCH) {
			failed = append(failed, fmt.Errorf("removing the route to %s: %w", route.Dst, err))
			continue
		}
		slog.Info("removed a route", "to", route.Dst)
	}
	return errors.Join(failed...)
}

// stale are the routes that lead to nodes that are not there.
func stale(present []netlink.Route, wanted map[netip.Prefix]netip.Addr) []netlink.Route {
	var routes []netlink.Route
	for _, route := range present {
		destination, ok := prefix(route.Dst)
		if _, isWanted := wanted[destination]; !ok || !isWanted {
			routes = append(routes, route)
		}
	}
	return routes
}

func contains(present []netlink.Route, destination netip.Prefix, gateway netip.Addr) bool {
	for _, route := range present {
		to, ok := prefix(route.Dst)
		via, _ := netip.AddrFromSlice(route.Gw)
		if ok && to == destination && via.Unmap() == gateway {
			return true
		}
	}
	return false
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

func prefix(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	address, ok := netip.AddrFromSlice(n.IP)
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(address.Unmap(), bits), ok
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
