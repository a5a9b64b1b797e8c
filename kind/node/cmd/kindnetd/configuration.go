package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
)

// configurationFile is where the container runtime looks for its network. Its
// name is the one that kind's own daemon uses.
const configurationFile = "/etc/cni/net.d/10-kindnet.conflist"

type object = map[string]any

// configuration is the CNI configuration of a node: a veth pair for each pod,
// addresses counted in a folder that a restart of the node empties, and host
// ports.
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

// writeConfiguration puts the file into place in one step: from then on the
// node is ready for pods.
func writeConfiguration(path string, content []byte) error {
	old, err := os.ReadFile(path)
	if err == nil && bytes.Equal(old, content) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	unfinished := path + ".temp"
	if err := os.WriteFile(unfinished, content, 0o644); err != nil {
		return fmt.Errorf("writing the CNI configuration: %w", err)
	}
	if err := os.Rename(unfinished, path); err != nil {
		return fmt.Errorf("writing the CNI configuration: %w", err)
	}
	slog.Info("wrote the CNI configuration", "file", path)
	return nil
}
