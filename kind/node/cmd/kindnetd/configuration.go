package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
)

// configurationFile is where the container runtime looks for its network. Its
// name is the one that kind's own daemon uses.
const configurationFile = "/etc/cni/net.d/10-kindnet.conflist"

type object = map[string]any

// configuration is the CNI configuration of a node: a veth pair for each pod,
// addresses that are counted in a directory which a restart of the node empties,
// and host ports.
func configuration(pods netip.Prefix, mtu int) []byte {
	data, err := json.MarshalIndent(object{
		"cniVersion": "0.4.0",
		"name":       "kindnet",
		"plugins": []object{
			{
				"type":   "ptp",
				"ipMasq": false,
				"mtu":    mtu,
				"ipam": object{
					"type":    "host-local",
					"dataDir": "/run/cni-ipam-state",
					"routes":  []object{{"dst": "0.0.0.0/0"}},
					"ranges":  [][]object{{{"subnet": pods.String()}}},
				},
			},
			{"type": "portmap", "capabilities": object{"portMappings": true}},
		},
	}, "", "  ")
	if err != nil {
		panic(err) // strings and numbers can be encoded
	}
	return append(data, '\n')
}

// writeConfiguration replaces the file in one step: from then on the node is ready
// for pods.
func writeConfiguration(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	unfinished := path + ".temp"
	err := os.WriteFile(unfinished, content, 0o644)
	if err == nil {
		err = os.Rename(unfinished, path)
	}
	if err != nil {
		return fmt.Errorf("write the CNI configuration: %w", err)
	}
	slog.Info("wrote the CNI configuration", "file", path)
	return nil
}
