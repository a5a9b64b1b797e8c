package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// protocol marks our own routes, so that no other is ever removed. The number is
// unused in the lists of the kernel and of iproute2.
const protocol = 155

// routes returns the addresses of the other nodes by their pod CIDRs.
func routes(nodes []node, host netip.Addr) map[netip.Prefix]netip.Addr {
	wanted := map[netip.Prefix]netip.Addr{}
	for _, n := range nodes {
		if n.address != host {
			wanted[n.pods.Masked()] = n.address
		}
	}
	return wanted
}

// syncRoutes adds the routes that are missing, and removes those of ours that are
// not wanted.
func syncRoutes(wanted map[netip.Prefix]netip.Addr) error {
	list, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Protocol: protocol}, netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return fmt.Errorf("list the routes: %w", err)
	}
	present := gateways(list)
	var failed []error
	change := func(what string, do func(*netlink.Route) error, destination netip.Prefix, gateway netip.Addr) {
		if err := do(route(destination, gateway)); err != nil {
			failed = append(failed, fmt.Errorf("%s a route to %s via %s: %w", what, destination, gateway, err))
			return
		}
		slog.Info(what+" a route", "to", destination, "via", gateway)
	}
	for destination, gateway := range wanted {
		if present[destination] != gateway {
			change("add", netlink.RouteReplace, destination, gateway)
		}
	}
	for destination, gateway := range present {
		if _, isWanted := wanted[destination]; !isWanted {
			change("remove", netlink.RouteDel, destination, gateway)
		}
	}
	return errors.Join(failed...)
}

// gateways returns the gateways of routes by their destinations.
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

// linkMTU returns the MTU of the link that has an address: what is sent between
// nodes leaves through it.
func linkMTU(address netip.Addr) (int, error) {
	addresses, err := netlink.AddrList(nil, unix.AF_INET)
	if err != nil {
		return 0, fmt.Errorf("list the node's addresses: %w", err)
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
