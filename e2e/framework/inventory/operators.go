package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/manifest"
)

// Operators names the programs that serve the custom resources that the manifests define, in any namespace: the manifests' own Deployment,
// workloads whose ServiceAccount may write the status of such a resource, and leases of the names that the manifests' operator uses, if
// they are held. An operator that runs elsewhere with an administrator's permissions, and without a lease, can't be found.
func Operators(ctx context.Context, config *rest.Config, m manifest.Set) ([]string, error) {
	c, err := client.New(config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	var rules roles
	workloads := &running{}
	leases := &coordinationv1.LeaseList{}
	if err := errors.Join(rules.read(ctx, c), workloads.read(ctx, c), c.List(ctx, leases)); err != nil {
		return nil, fmt.Errorf("looking for operators: %w", err)
	}
	var found []string
	accounts := rules.accounts(func(rule rbacv1.PolicyRule) bool { return writesStatus(rule, m) })
	for _, w := range *workloads {
		own := slices.ContainsFunc(m.Select(w.kind), func(o *unstructured.Unstructured) bool { return client.ObjectKeyFromObject(o) == w.key })
		if own || accounts[client.ObjectKey{Namespace: w.key.Namespace, Name: w.account}] {
			found = append(found, w.kind+" "+w.key.String())
		}
	}
	names := LeaseNames(m)
	for _, lease := range leases.Items {
		if holder := lease.Spec.HolderIdentity; slices.Contains(names, lease.Name) && holder != nil && *holder != "" {
			found = append(found, fmt.Sprintf("Lease %s, held by %s", client.ObjectKeyFromObject(&lease), *holder))
		}
	}
	return found, nil
}

// writesStatus reports whether a rule names the status of a custom resource, as a rule for its operator does. One that grants everything
// is an administrator's.
func writesStatus(rule rbacv1.PolicyRule, m manifest.Set) bool {
	if !slices.ContainsFunc(rule.Verbs, func(verb string) bool { return slices.Contains([]string{"update", "patch", rbacv1.VerbAll}, verb) }) {
		return false
	}
	return slices.ContainsFunc(m.Select(definition), func(d *unstructured.Unstructured) bool {
		group, _, _ := unstructured.NestedString(d.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(d.Object, "spec", "names", "plural")
		return slices.Contains(rule.APIGroups, group) &&
			(slices.Contains(rule.Resources, plural+"/status") || slices.Contains(rule.Resources, rbacv1.ResourceAll))
	})
}

// LeaseNames returns the names of the leases that the manifests' operator may hold, as far as its roles name them.
func LeaseNames(m manifest.Set) []string {
	var names []string
	for _, object := range m.Select("Role", "ClusterRole") {
		role := &rbacv1.ClusterRole{} // a Role has the same rules
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
			continue // the API server will say so
		}
		for _, rule := range role.Rules {
			if slices.Contains(rule.Resources, "leases") {
				names = append(names, rule.ResourceNames...)
			}
		}
	}
	return names
}

// roles are the RBAC rules of a cluster.
type roles struct {
	clusterRoles        rbacv1.ClusterRoleList
	roles               rbacv1.RoleList
	clusterRoleBindings rbacv1.ClusterRoleBindingList
	roleBindings        rbacv1.RoleBindingList
}

func (r *roles) read(ctx context.Context, c client.Client) error {
	return errors.Join(c.List(ctx, &r.clusterRoles), c.List(ctx, &r.roles), c.List(ctx, &r.clusterRoleBindings), c.List(ctx, &r.roleBindings))
}

// accounts returns the ServiceAccounts to which a rule like that applies, in any namespace.
func (r *roles) accounts(like func(rbacv1.PolicyRule) bool) map[client.ObjectKey]bool {
	granting := map[string]map[client.ObjectKey]bool{"ClusterRole": {}, "Role": {}}
	for _, role := range r.clusterRoles.Items {
		granting["ClusterRole"][client.ObjectKey{Name: role.Name}] = slices.ContainsFunc(role.Rules, like)
	}
	for _, role := range r.roles.Items {
		granting["Role"][client.ObjectKeyFromObject(&role)] = slices.ContainsFunc(role.Rules, like)
	}
	accounts := map[client.ObjectKey]bool{}
	bind := func(namespace string, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
		role := client.ObjectKey{Name: ref.Name}
		if ref.Kind == "Role" {
			role.Namespace = namespace
		}
		if !granting[ref.Kind][role] {
			return
		}
		for _, subject := range subjects {
			if subject.Kind == rbacv1.ServiceAccountKind {
				accounts[client.ObjectKey{Namespace: cmp.Or(subject.Namespace, namespace), Name: subject.Name}] = true
			}
		}
	}
	for _, binding := range r.clusterRoleBindings.Items {
		bind("", binding.RoleRef, binding.Subjects)
	}
	for _, binding := range r.roleBindings.Items {
		bind(binding.Namespace, binding.RoleRef, binding.Subjects)
	}
	return accounts
}

// running are the workloads of a cluster that have pods, or are about to.
type running []workload

type workload struct {
	kind    string
	key     client.ObjectKey
	account string
}

func (r *running) read(ctx context.Context, c client.Client) error {
	deployments, statefulSets, daemonSets := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &appsv1.DaemonSetList{}
	if err := errors.Join(c.List(ctx, deployments), c.List(ctx, statefulSets), c.List(ctx, daemonSets)); err != nil {
		return err
	}
	add := func(kind string, object client.Object, replicas *int32, pod corev1.PodSpec) {
		if replicas == nil || *replicas > 0 {
			*r = append(*r, workload{kind, client.ObjectKeyFromObject(object), cmp.Or(pod.ServiceAccountName, "default")})
		}
	}
	for _, d := range deployments.Items {
		add("Deployment", &d, d.Spec.Replicas, d.Spec.Template.Spec)
	}
	for _, s := range statefulSets.Items {
		add("StatefulSet", &s, s.Spec.Replicas, s.Spec.Template.Spec)
	}
	for _, d := range daemonSets.Items {
		add("DaemonSet", &d, nil, d.Spec.Template.Spec)
	}
	return nil
}
