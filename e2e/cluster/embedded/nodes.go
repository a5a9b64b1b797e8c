package embedded

import (
	"context"
	"fmt"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// node is a node that kwok plays: node-0, node-1, ...
func node(i int) *corev1.Node {
	name := fmt.Sprintf("node-%d", i)
	// The labels of the beta, too, or kube-controller-manager would add them later.
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name,
		Labels: map[string]string{
			corev1.LabelHostname:      name,
			corev1.LabelArchStable:    runtime.GOARCH,
			corev1.LabelOSStable:      "linux",
			"beta.kubernetes.io/arch": runtime.GOARCH,
			"beta.kubernetes.io/os":   "linux",
		},
	}}
}

func createNodes(ctx context.Context, client corev1client.NodeInterface, count int) error {
	for i := range count {
		if _, err := client.Create(ctx, node(i), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create node-%d: %w", i, err)
		}
	}
	return nil
}
