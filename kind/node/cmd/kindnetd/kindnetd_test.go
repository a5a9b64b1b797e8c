package main

import (
	"encoding/json"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vishvananda/netlink"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func aNode(name, podCIDR string, addresses ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDR: podCIDR}}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}}
	for _, a := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	return n
}

func TestRoutesLeadToTheOtherNodes(t *testing.T) {
	host := netip.MustParseAddr("172.18.0.2")
	got := routes(known([]*corev1.Node{
		aNode("self", "10.244.0.0/24", "172.18.0.2"),
		aNode("other", "10.244.1.0/24", "fc00::3", "172.18.0.3"),
		aNode("without-a-cidr-yet", "", "172.18.0.4"),
		aNode("without-an-address-yet", "10.244.3.0/24"),
	}), host)
	want := map[netip.Prefix]netip.Addr{netip.MustParsePrefix("10.244.1.0/24"): netip.MustParseAddr("172.18.0.3")}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, expected %v", got, want)
	}
}

func TestGatewaysOfRoutes(t *testing.T) {
	pods, gateway := netip.MustParsePrefix("10.244.1.0/24"), netip.MustParseAddr("172.18.0.3")
	got := gateways([]netlink.Route{
		{Dst: ipNet(pods), Gw: net.ParseIP("172.18.0.3")}, // in 16 bytes
		{Dst: ipNet(netip.MustParsePrefix("10.244.2.0/24"))},
		{Gw: gateway.AsSlice()},
	})
	if want := map[netip.Prefix]netip.Addr{pods: gateway}; !maps.Equal(got, want) {
		t.Errorf("got %v, expected %v", got, want)
	}
}

func TestConfiguration(t *testing.T) {
	var got struct {
		Plugins []struct {
			Type string
			MTU  int
			IPAM struct {
				Ranges [][]struct{ Subnet string }
			}
		}
	}
	if err := json.Unmarshal(configuration(netip.MustParsePrefix("10.244.1.0/24"), 1400), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Plugins) != 2 || got.Plugins[0].Type != "ptp" || got.Plugins[1].Type != "portmap" {
		t.Fatalf("the plug-ins are %+v", got.Plugins)
	}
	if ptp := got.Plugins[0]; ptp.MTU != 1400 || ptp.IPAM.Ranges[0][0].Subnet != "10.244.1.0/24" {
		t.Errorf("got %+v", ptp)
	}
}

func TestConfigurationIsWrittenOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "10-kindnet.conflist")
	write := func(content string) os.FileInfo {
		t.Helper()
		if err := writeConfiguration(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	first, again, changed := write("a"), write("a"), write("b")
	if !os.SameFile(first, again) || os.SameFile(again, changed) {
		t.Error("the file is replaced without a change, or not replaced after one")
	}
}

func TestFollowsNodesAndTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clients := fake.NewClientset(aNode("one", "10.244.0.0/24", "172.18.0.2"))
		seen := make(chan []node)
		failures := 1
		go func() {
			_ = follow(t.Context(), clients, func(nodes []node) error {
				if failures > 0 {
					failures--
					return os.ErrInvalid
				}
				select {
				case seen <- nodes:
				case <-t.Context().Done():
				}
				return nil
			})
		}()
		await := func(count int) {
			t.Helper()
			for {
				select {
				case nodes := <-seen:
					if len(nodes) == count {
						return
					}
				case <-time.After(10 * time.Minute):
					t.Fatalf("no call with %d nodes", count)
				}
			}
		}
		// After a failure and a pause, which synctest ends when everything waits, the watch too: the fake API server sends only what is
		// created while it is watched.
		await(1)
		if _, err := clients.CoreV1().Nodes().Create(t.Context(), aNode("two", "10.244.1.0/24", "172.18.0.3"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		await(2)
		if err := clients.CoreV1().Nodes().Delete(t.Context(), "two", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		await(1)
	})
}
