package kind

import (
	"cmp"
	"context"
	"crypto/sha1" // as kind does
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
)

// networkLabel marks a network that the testbed made: kind would make the same one, and never removes it.
const networkLabel = "operator-testbed"

// network is what kind calls the network of its nodes, which all kind clusters of a machine share, unless its variable says
// otherwise.
func network() string { return cmp.Or(os.Getenv("KIND_EXPERIMENTAL_DOCKER_NETWORK"), "kind") }

// ensureNetwork makes the network where there is none, with a label by which removeNetwork knows it. An engine that does not
// understand the options leaves it to kind, whose it is then.
func ensureNetwork(ctx context.Context) error {
	there, err := docker(ctx, "network", "ls", "--quiet", "--filter=name=^"+network()+"$")
	if err != nil || there != "" {
		return err
	}
	options := []string{"network", "create", "--driver=bridge", "--label=" + networkLabel, "--opt=com.docker.network.bridge.enable_ip_masquerade=true"}
	const mtu = "com.docker.network.driver.mtu"
	if usual, err := docker(ctx, "network", "inspect", "bridge", fmt.Sprintf("--format={{index .Options %q}}", mtu)); err == nil && usual != "" {
		options = append(options, "--opt="+mtu+"="+usual)
	}
	for _, ipv6 := range [][]string{{"--ipv6", "--subnet=" + subnet(network())}, nil} { // not all machines have it
		if _, err = docker(ctx, append(append(slices.Clip(options), ipv6...), network())...); err == nil {
			break
		}
	}
	return context.Cause(ctx)
}

// subnet is the IPv6 subnet that kind would give a network of that name.
func subnet(name string) string {
	sum := sha1.Sum(append([]byte(name), 0, 0, 0, 0)) // its first attempt
	ip := make(net.IP, net.IPv6len)
	ip[0] = 0xfc
	copy(ip[2:8], sum[2:8])
	return ip.String() + "/64"
}

// removeNetwork removes the network if the testbed made it and no container, running or not, is in it.
func removeNetwork(ctx context.Context) error {
	made, err := docker(ctx, "network", "ls", "--no-trunc", "--quiet", "--filter=name=^"+network()+"$", "--filter=label="+networkLabel)
	if err != nil || made == "" {
		return err
	}
	users, err := docker(ctx, "ps", "--all", "--quiet", "--filter=network="+made)
	if err != nil || users != "" {
		return err
	}
	if _, err := docker(ctx, "network", "rm", made); err != nil && !isGone(err) {
		return err
	}
	return nil
}

// isGone says that Docker knows no such thing any more.
func isGone(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "not found") || strings.Contains(text, "no such")
}
