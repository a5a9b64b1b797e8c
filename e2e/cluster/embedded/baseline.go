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

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// takeBaseline writes down what etcd holds, for Reset, once the cluster's own
// components have done what they do at first.
func takeBaseline(ctx context.Context, l layout) error {
	client := newEtcdClient(l.etcd())
	var missing string
	for {
		all, revision, err := client.read(ctx)
		if err == nil {
			missing, err = unsettled(all)
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
func unsettled(all contents) (string, error) {
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
	roles, err := clusterRoles(all)
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

// clusterRoles returns the ClusterRoles in the contents of etcd.
func clusterRoles(all contents) ([]*rbacv1.ClusterRole, error) {
	var roles []*rbacv1.ClusterRole
	for key, is := range all {
		if !strings.HasPrefix(key, registry+"clusterroles/") {
			continue
		}
		role := &rbacv1.ClusterRole{}
		if _, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(is.Value, nil, role); err != nil {
			return nil, fmt.Errorf("decode %s: %w", key, err)
		}
		roles = append(roles, role)
	}
	return roles, nil
}
