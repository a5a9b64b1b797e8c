package embedded

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

// sentinels has, for each kind that kube-apiserver's admission goes by, objects called NAME that refuse every ConfigMap with the label
// testbed.example.com/reset: NAME. A file has the name of its kind in etcd.
//
//go:embed sentinels/*.yaml
var sentinels embed.FS

// sentinelsOf returns the sentinels of the kinds that were touched, as YAML by kind. A policy counts with its bindings.
func sentinelsOf(touched map[string]bool) map[string][]byte {
	found := map[string][]byte{}
	for key := range touched {
		kind, _, _ := strings.Cut(strings.TrimPrefix(key, registry), "/")
		if stem, ok := strings.CutSuffix(kind, "policybindings"); ok {
			kind = stem + "policies"
		}
		if content, err := sentinels.ReadFile("sentinels/" + kind + ".yaml"); err == nil {
			found[kind] = content
		}
	}
	return found
}

// admissionForgets waits until kube-apiserver's admission goes by nothing that was there before. It keeps what it goes by in
// memory, follows the changes in their order, and those of policies once a second only: so when it goes by a sentinel, it goes by
// nothing older. The sentinels stay, for the reset to remove.
func (p *Provider) admissionForgets(kinds map[string][]byte) step {
	return func(ctx context.Context) error {
		c, err := client.New(p.config, client.Options{})
		if err != nil {
			return err
		}
		var refused []step
		for kind, content := range kinds {
			name := "reset-" + strings.ToLower(rand.Text())
			refused = append(refused, func(ctx context.Context) error { return untilRefused(ctx, c, name) })
			for documents := yaml.NewYAMLToJSONDecoder(bytes.NewReader(bytes.ReplaceAll(content, []byte("NAME"), []byte(name)))); ; {
				object := &unstructured.Unstructured{}
				err := documents.Decode(object)
				if errors.Is(err, io.EOF) {
					break
				}
				if err == nil {
					err = c.Create(ctx, object)
				}
				if err != nil {
					return fmt.Errorf("see whether %s are forgotten: %w", kind, err)
				}
			}
		}
		return inOrder(ctx, refused...)
	}
}

// untilRefused waits until a sentinel refuses what has its label.
func untilRefused(ctx context.Context, c client.Client, name string) error {
	var err error
	for range watch.Poll(ctx, healthPoll) {
		trial := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: "reset", Labels: map[string]string{"testbed.example.com/reset": name},
		}}
		err = c.Create(ctx, trial, client.DryRunAll)
		if err != nil && strings.Contains(err.Error(), name) && ctx.Err() == nil {
			return nil
		}
	}
	return fmt.Errorf("kube-apiserver does not see %s; it answered last: %w", name, err)
}
