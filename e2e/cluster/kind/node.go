package kind

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
)

// StopNode kills a node's container, as a machine that loses its power.
func (p *Provider) StopNode(ctx context.Context, node string) error {
	_, err := docker(ctx, "kill", node) // the error names both
	return err
}

// StartNode starts a node that [Provider.StopNode] has stopped.
func (p *Provider) StartNode(ctx context.Context, node string) error {
	_, err := docker(ctx, "start", node)
	return err
}

// HostAddress returns the address at which the nodes reach this machine. It is empty if they do not: an engine in a virtual machine has
// another gateway, and a firewall may refuse what comes from containers.
func (p *Provider) HostAddress(ctx context.Context) (string, error) {
	nodes, err := p.library().ListNodes(inKind(p.name))
	if err != nil || len(nodes) == 0 {
		return "", err
	}
	node := nodes[0].String()
	route, err := docker(ctx, "exec", node, "ip", "-4", "route", "show", "default")
	if err != nil {
		return "", err
	}
	gateway := gatewayOf(route)
	if gateway == "" {
		return "", nil
	}
	listener, err := net.Listen("tcp4", net.JoinHostPort(gateway, "0"))
	if err != nil {
		return "", nil // it is not an address of this machine
	}
	defer listener.Close()
	connect := fmt.Sprintf("exec 3<>/dev/tcp/%s/%d", gateway, listener.Addr().(*net.TCPAddr).Port)
	if _, err := docker(ctx, "exec", node, "timeout", "10", "bash", "-c", connect); err != nil {
		return "", context.Cause(ctx)
	}
	return gateway, nil
}

// gatewayOf returns the gateway of a route as the command ip prints it, such as "default via 172.18.0.1 dev eth0", or "".
func gatewayOf(route string) string {
	fields := strings.Fields(route)
	if at := slices.Index(fields, "via"); at >= 0 && at+1 < len(fields) {
		return fields[at+1]
	}
	return ""
}
