package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// takeBaseline writes down what etcd holds, for Reset, once the cluster's own
// components have done what they do at first.
func takeBaseline(ctx context.Context, l layout, nodes int) (err error) {
	client, err := newEtcdClient(l.etcd())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.close()) }()
	var missing string
	for {
		all, revision, err := client.read(ctx)
		if err == nil {
			missing, err = unsettled(all, nodes)
		}
		if err != nil {
			return err
		}
		if missing == "" {
			return writeBaseline(l, all)
		}
		if err := client.changed(ctx, revision); err != nil {
			return fmt.Errorf("wait for %s: %w", missing, err)
		}
	}
}

func writeBaseline(l layout, all contents) error {
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return l.write(l.baseline(), data)
}

func readBaseline(l layout) (contents, error) {
	data, err := os.ReadFile(l.baseline())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("it was made by another version of this program, which kept no record of how it began: destroy it, and create it again")
	}
	if err != nil {
		return nil, err
	}
	var all contents
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("read %s: %w", l.baseline(), err)
	}
	return all, nil
}

// madeByServer are what kube-apiserver makes for itself in the background.
var madeByServer = []string{
	"services/specs/default/kubernetes",
	"ipaddresses/10.0.0.1",
	"configmaps/kube-system/kube-apiserver-legacy-service-account-token-tracking",
}

// unsettled names something that the cluster's own components will still make
// or change; empty when there is nothing.
func unsettled(all contents, nodes int) (string, error) {
	made := slices.Clone(madeByServer)
	for key := range all {
		if namespace, ok := strings.CutPrefix(key, registry+"namespaces/"); ok {
			made = append(made, "serviceaccounts/"+namespace+"/default", "configmaps/"+namespace+"/kube-root-ca.crt")
		}
	}
	for _, key := range made {
		if _, ok := all[registry+key]; !ok {
			return key, nil
		}
	}
	ready, err := decodeAll[*corev1.Node](all, nodeKeys)
	if err != nil {
		return "", err
	}
	if len(ready) < nodes {
		return fmt.Sprintf("%d of %d nodes", len(ready), nodes), nil
	}
	for _, node := range ready {
		if !nodeSettled(node) {
			return "the node " + node.Name, nil
		}
	}
	roles, err := decodeAll[*rbacv1.ClusterRole](all, registry+"clusterroles/")
	if err != nil {
		return "", err
	}
	for _, role := range roles {
		if ok, err := aggregated(role, roles); err != nil || !ok {
			return "the ClusterRole " + role.Name, err
		}
	}
	return "", nil
}

// nodeSettled reports whether kwok and the node's controllers are done with a
// new node.
func nodeSettled(node *corev1.Node) bool {
	return len(node.Spec.Taints) == 0 && node.Labels[corev1.LabelOSStable] == node.Labels["beta.kubernetes.io/os"] &&
		slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
}

// aggregated reports whether a role has the rules of all roles that it is made
// of.
func aggregated(role *rbacv1.ClusterRole, all []*rbacv1.ClusterRole) (bool, error) {
	if role.AggregationRule == nil {
		return true, nil
	}
	for _, selector := range role.AggregationRule.ClusterRoleSelectors {
		selects, err := metav1.LabelSelectorAsSelector(&selector)
		if err != nil {
			return false, err
		}
		for _, part := range all {
			if part.Name == role.Name || !selects.Matches(labels.Set(part.Labels)) {
				continue
			}
			for _, rule := range part.Rules {
				if !slices.ContainsFunc(role.Rules, func(has rbacv1.PolicyRule) bool { return has.String() == rule.String() }) {
					return false, nil
				}
			}
		}
	}
	return true, nil
}

// decodeAll returns the objects whose keys begin so.
func decodeAll[T runtime.Object](all contents, prefix string) ([]T, error) {
	var objects []T
	for key, is := range all {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		object, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(is.Value, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", key, err)
		}
		typed, ok := object.(T)
		if !ok {
			return nil, fmt.Errorf("decode %s: it is a %T", key, object)
		}
		objects = append(objects, typed)
	}
	return objects, nil
}
