package embedded

import (
	"bytes"
	_ "embed"
)

var (
	//go:embed stages/node.yaml
	nodeStages []byte
	//go:embed stages/pod.yaml
	podStages []byte
)

// stages is kwok's configuration: how nodes and pods go through their lives.
func stages() []byte {
	return bytes.Join([][]byte{nodeStages, podStages}, []byte("---\n"))
}
