package embedded_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/tier"
)

// TestReset makes a mess in a cluster, again and again, which must be as new each time.
func TestReset(t *testing.T) {
	tier.All(t)
	needsCluster(t)
	b := ownBed(t, "reset", embedded.WithCRDs("testdata/crds"))
	baseline := b.stored(t)
	for _, broken := range [][]string{nil, {embedded.KubeScheduler}, nil, {embedded.Kwok, embedded.KubeControllerManager}, {embedded.KubeAPIServer, embedded.Etcd}, nil} {
		b.mess(t)
		for _, component := range broken {
			b.do(t, component, (*supervisor.Supervisor).Stop)
		}
		before := time.Now()
		if err := b.cluster.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		if events, err := audit.Open(b.cluster.AuditLog()).Since(audit.Mark{}); err != nil || len(events) > 0 && events[0].StageTimestamp.Time.Before(before) {
			t.Errorf("expected the audit log to begin again, got %d events, %v", len(events), err)
		}
		b.expectAsNew(t, baseline)
	}
	// Policies are forgotten a second later, unless a reset sees to it.
	for _, policy := range refusingPolicies() {
		for _, object := range policy {
			b.create(t, object)
		}
		b.untilRefused(t, policy[0].GetName())
		if err := b.cluster.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.expectAsNew(t, baseline)
	}
	b.create(t, deployment(metav1.NamespaceDefault, "after", 2))
	framework.WaitForDeployment(t.Context(), b.scope(t), types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: "after"}, 2)
}

// TestAttached uses a cluster that stays, as one suite after another does.
func TestAttached(t *testing.T) {
	tier.All(t)
	needsCluster(t)
	b := ownBed(t, "stays", embedded.WithCRDs("testdata/crds"))
	baseline := b.stored(t)
	attached := func() *embedded.Provider {
		p := embedded.NewProvider()
		p.WithOpts(embedded.Attached("stays")).WithName("suite-1234")
		return p
	}
	for range 2 {
		p := attached()
		if kubeconfig, err := p.Create(t.Context()); err != nil || kubeconfig != b.cluster.GetKubeconfig() {
			t.Fatalf("expected the cluster that is up, got %s, %v", kubeconfig, err)
		}
		b.expectAsNew(t, baseline)
		other := attached()
		if _, err := other.Create(t.Context()); !errors.As(err, new(*embedded.InUseError)) {
			t.Errorf("expected nobody else to get the cluster, got %v", err)
		}
		b.mess(t)
		for _, leaving := range []*embedded.Provider{other, p} {
			if processes := b.processes(t); !slices.Contains(processes, "operator") {
				t.Errorf("expected the operator to run until its suite ends, got %q", processes)
			}
			if err := leaving.Destroy(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if processes := b.processes(t); slices.Contains(processes, "operator") || len(processes) != 5 {
			t.Errorf("expected the cluster's components to be left, got %q", processes)
		}
	}
	_, err := embedded.NewProvider().WithOpts(embedded.Attached("nowhere")).Create(t.Context())
	if !errors.As(err, new(*embedded.NotUpError)) {
		t.Errorf("expected a *NotUpError, got %v", err)
	}
}

// processes are the names of those that the supervisor runs.
func (b *bed) processes(t *testing.T) []string {
	t.Helper()
	all, err := b.cluster.Supervisor().Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	return names
}

// mess does what suites do to a cluster, and worse.
func (b *bed) mess(t *testing.T) {
	t.Helper()
	if err := b.cluster.Supervisor().Run(t.Context(), supervisor.Process{Name: "operator", Path: "sleep", Args: []string{"1000"}}); err != nil {
		t.Fatal(err)
	}
	namespace := b.namespace(t)
	for _, in := range []string{namespace, metav1.NamespaceDefault} {
		d := deployment(in, "mess", 3)
		b.create(t, d)
		framework.WaitForDeployment(t.Context(), b.scope(t), client.ObjectKeyFromObject(d), 3)
		b.create(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: "mess"}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, Selector: map[string]string{"app": "mess"}, Ports: []corev1.ServicePort{{Port: 80}},
		}})
		b.create(t, &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: "nothing-more"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
		})
		b.create(t, owner(in, "mess"))
	}
	b.create(t, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "mess", Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"example.com"}, Resources: []string{"messes"}, Verbs: []string{"get"}}},
	})
	b.create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "mess"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "mess"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "somebody"}},
	})
	b.create(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "another"}})
	b.patch(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-0"}}, `{"metadata":{"labels":{"mess":"yes"}},"spec":{"unschedulable":true}}`)
	for _, gone := range []client.Object{
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "default"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kube-root-ca.crt"}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "system:basic-user"}},
		namespaceCalled(namespace), // and hangs, for a finalizer
	} {
		if err := b.Delete(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
	}
	b.create(t, refusing())
	b.untilRefused(t, "failed calling webhook")
}

// untilRefused tries to create a namespace until the answer has the words in it.
func (b *bed) untilRefused(t *testing.T, words string) {
	t.Helper()
	for {
		if err := b.Create(t.Context(), namespaceCalled("refused"), client.DryRunAll); err != nil {
			if !strings.Contains(err.Error(), words) {
				t.Fatal(err)
			}
			return
		}
	}
}

// refusingPolicies refuse every new namespace: a policy of each kind, with its binding.
func refusingPolicies() [][]client.Object {
	matching := &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"namespaces"}},
		},
	}}}
	return [][]client.Object{{
		&admissionregistrationv1.ValidatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: "refusing-validation"},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
				MatchConstraints: matching, Validations: []admissionregistrationv1.Validation{{Expression: "false"}},
			},
		},
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "refusing"},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: "refusing-validation", ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			},
		},
	}, {
		&admissionregistrationv1.MutatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: "refusing-mutation"},
			Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
				MatchConstraints: matching, ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
				Mutations: []admissionregistrationv1.Mutation{{
					PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
					ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: `Object{metadata: Object.metadata{labels: {"a": string(1 / 0)}}}`},
				}},
			},
		},
		&admissionregistrationv1.MutatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "refusing"},
			Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: "refusing-mutation"},
		},
	}}
}

func namespaceCalled(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// owner is a custom resource that nobody would release.
func owner(namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("test.example.com/v1")
	object.SetKind("Owner")
	object.SetNamespace(namespace)
	object.SetName(name)
	object.SetFinalizers([]string{"example.com/never"})
	return object
}

// refusing is a webhook that nobody answers, asked about everything.
func refusing() *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "refusing"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:         "refusing.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/")},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}},
			}},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
}

// expectAsNew checks that a cluster is as it was at first.
func (b *bed) expectAsNew(t *testing.T, baseline map[string]string) {
	t.Helper()
	now := b.stored(t)
	for key, value := range now {
		if baseline[key] != value && !renewed(key) {
			t.Errorf("expected %s to be gone, or as it was", key)
		}
	}
	for key := range baseline {
		if _, ok := now[key]; !ok && !renewed(key) {
			t.Errorf("expected %s to be there again", key)
		}
	}
	processes, err := b.cluster.Supervisor().Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		if p.State != supervisor.Running || p.Name == "operator" {
			t.Errorf("expected the components to run and no other process, got %+v", p)
		}
	}
	// Nobody is asked any more, and what is new is done.
	b.create(t, namespaceCalled("as-new"))
	b.create(t, deployment("as-new", "new", 1))
	framework.WaitForDeployment(t.Context(), b.scope(t), types.NamespacedName{Namespace: "as-new", Name: "new"}, 1)
}

func renewed(key string) bool {
	return slices.ContainsFunc([]string{"leases/", "peerserverleases/", "events/"}, func(kind string) bool {
		return strings.HasPrefix(key, "/registry/"+kind)
	})
}

// stored is what etcd holds.
func (b *bed) stored(t *testing.T) map[string]string {
	t.Helper()
	all, err := embedded.Stored(t.Context(), b.cluster.Supervisor().Dir())
	if err != nil {
		t.Fatal(err)
	}
	return all
}
