package embedded

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

func createNodes(ctx context.Context, c client.Client, count int) (err error) {
	for i := range count {
		err = errors.Join(err, c.Create(ctx, node(i)))
	}
	return err
}
