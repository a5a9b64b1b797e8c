package operator_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// Each kustomization installs exactly these objects.
func TestInventory(t *testing.T) {
	inEach := []string{
		"Deployment operator-controller-manager", "ServiceAccount operator-controller-manager",
		"PodDisruptionBudget operator-controller-manager",
		"Role operator-leader-election-role", "RoleBinding operator-leader-election-rolebinding",
	}
	inDefault := slices.Concat(inEach, []string{
		"Namespace operator-system", "CustomResourceDefinition memcacheds.cache.example.com",
		"ClusterRole operator-manager-role", "ClusterRoleBinding operator-manager-rolebinding",
		"ClusterRole operator-memcached-viewer-role", "ClusterRole operator-memcached-editor-role", "ClusterRole operator-memcached-admin-role",
		"ClusterRole operator-metrics-auth-role", "ClusterRoleBinding operator-metrics-auth-rolebinding", "ClusterRole operator-metrics-reader",
		"Service operator-controller-manager-metrics-service", "Service operator-webhook-service",
		"MutatingWebhookConfiguration operator-mutating-webhook-configuration", "ValidatingWebhookConfiguration operator-validating-webhook-configuration",
	})
	for name, want := range map[string][]string{
		"default": slices.Concat(inDefault, []string{
			"Role operator-certificates-role", "RoleBinding operator-certificates-rolebinding",
			"ClusterRole operator-webhook-trust-role", "ClusterRoleBinding operator-webhook-trust-rolebinding",
		}),
		"default-cert-manager": slices.Concat(inDefault, []string{"Issuer memcached-operator-selfsigned-issuer", "Certificate memcached-operator-serving-cert"}),
		"namespaced":           slices.Concat(inEach, []string{"Role operator-manager-role", "RoleBinding operator-manager-rolebinding"}),
		"network-policy":       {"NetworkPolicy operator-allow-metrics-traffic", "NetworkPolicy operator-allow-webhook-traffic"},
		"prometheus": {
			"ServiceMonitor operator-controller-manager-metrics-monitor", "PrometheusRule operator-controller-manager-alerts",
			"ServiceAccount operator-prometheus", "Secret operator-prometheus-token",
			"ClusterRole operator-prometheus-role", "ClusterRoleBinding operator-prometheus-rolebinding",
		},
		"tenants": {
			"CustomResourceDefinition memcacheds.cache.example.com",
			"ClusterRole operator-tenant-manager-role",
			"ClusterRole operator-tenant-memcached-viewer-role", "ClusterRole operator-tenant-memcached-editor-role", "ClusterRole operator-tenant-memcached-admin-role",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, object := range render(t, name) {
				got = append(got, object.GetKind()+" "+object.GetName())
			}
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

// An update of the manager starts the new pod before it stops the old one, and probes give a slow pod time.
func TestManagerStays(t *testing.T) {
	for _, name := range []string{"default", "default-cert-manager", "namespaced"} {
		t.Run(name, func(t *testing.T) {
			manager := one[appsv1.Deployment](t, render(t, name), "Deployment")
			update := manager.Spec.Strategy.RollingUpdate
			if *manager.Spec.Replicas != 2 || update == nil || update.MaxUnavailable.String() != "0" || update.MaxSurge.String() == "0" {
				t.Errorf("%d replicas are replaced by %+v", *manager.Spec.Replicas, manager.Spec.Strategy)
			}
			want := map[string]string{"control-plane": "controller-manager", "app.kubernetes.io/name": "operator"}
			if diff := cmp.Diff(want, manager.Spec.Selector.MatchLabels); diff != "" {
				t.Errorf("the selector's labels (-want +got):\n%s", diff)
			}
			for label, value := range want {
				if manager.Spec.Template.Labels[label] != value {
					t.Errorf("the pods' labels are %v", manager.Spec.Template.Labels)
				}
			}
			pod := manager.Spec.Template.Spec
			live, ready := pod.Containers[0].LivenessProbe, pod.Containers[0].ReadinessProbe
			// The default failure threshold is 3.
			if live.PeriodSeconds <= ready.PeriodSeconds || live.PeriodSeconds > 30 || live.FailureThreshold != 0 || ready.FailureThreshold != 0 {
				t.Errorf("it is asked whether it is alive every %ds, and whether it is ready every %ds", live.PeriodSeconds, ready.PeriodSeconds)
			}
			if *pod.TerminationGracePeriodSeconds < 5 {
				t.Errorf("it has %ds to give its lease back", *pod.TerminationGracePeriodSeconds)
			}
			// With a thousand Memcacheds, the manager uses about 75 MiB.
			if limit := pod.Containers[0].Resources.Limits.Memory().Value(); limit < 100<<20 {
				t.Errorf("it may have %d bytes of memory", limit)
			}
			if pod.Containers[0].ImagePullPolicy != corev1.PullIfNotPresent {
				t.Errorf("the image is pulled %s: one that was built on the node would not be found", pod.Containers[0].ImagePullPolicy)
			}
			if pod.AutomountServiceAccountToken != nil {
				t.Error("the pods say whether they get the ServiceAccount's token")
			}
			for _, account := range all[corev1.ServiceAccount](t, render(t, name), "ServiceAccount") {
				if account.AutomountServiceAccountToken != nil {
					t.Error("the ServiceAccount says whether pods get its token")
				}
			}
		})
	}
}

// The manager's Deployment sets these fields, with these flags and resources. A change of any other setting is one that a test has to
// be about.
func TestManagerSetsNothingElse(t *testing.T) {
	for name, flags := range map[string][]string{
		"default":    {"--health-probe-bind-address=:8081", "--metrics-bind-address=:8443", "--webhook-bind-address=:9443", "--leader-elect"},
		"namespaced": {"--health-probe-bind-address=:8081", "--leader-elect"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := render(t, name)
			spec, _ := objectOf(t, objects, "Deployment").Object["spec"].(map[string]any)
			template, _ := spec["template"].(map[string]any)
			pod, _ := template["spec"].(map[string]any)
			container, _ := pod["containers"].([]any)[0].(map[string]any)
			probe := []string{"httpGet", "initialDelaySeconds", "periodSeconds"}
			for what, fields := range map[string]struct {
				set  any
				want []string
			}{
				"the Deployment": {spec, []string{"replicas", "selector", "strategy", "template"}},
				"the pod": {pod, []string{
					"containers", "nodeSelector", "securityContext", "serviceAccountName", "terminationGracePeriodSeconds", "topologySpreadConstraints",
				}},
				"the container": {container, []string{
					"args", "command", "env", "image", "imagePullPolicy", "livenessProbe", "name", "ports", "readinessProbe", "resources", "securityContext",
				}},
				"the liveness probe":  {container["livenessProbe"], probe},
				"the readiness probe": {container["readinessProbe"], probe},
			} {
				set, _ := fields.set.(map[string]any)
				if diff := cmp.Diff(fields.want, slices.Sorted(maps.Keys(set))); diff != "" {
					t.Errorf("fields that %s sets (-want +got):\n%s", what, diff)
				}
			}
			typed := one[appsv1.Deployment](t, objects, "Deployment").Spec.Template.Spec.Containers[0]
			if diff := cmp.Diff(flags, typed.Args); diff != "" {
				t.Errorf("flags (-want +got):\n%s", diff)
			}
			resources := corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
				Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
			}
			if diff := cmp.Diff(resources, typed.Resources); diff != "" {
				t.Errorf("resources (-want +got):\n%s", diff)
			}
			if live, ready := typed.LivenessProbe.InitialDelaySeconds, typed.ReadinessProbe.InitialDelaySeconds; live != 15 || ready != 5 {
				t.Errorf("it is asked whether it is alive after %ds, and whether it is ready after %ds", live, ready)
			}
		})
	}
}

// A replica stays while a node is drained, whatever the number of replicas: with one, the drain must not wait forever. Replicas of the
// same version prefer different nodes.
func TestManagerStaysWhileNodesAreDrained(t *testing.T) {
	for _, name := range []string{"default", "default-cert-manager", "namespaced"} {
		t.Run(name, func(t *testing.T) {
			objects := render(t, name)
			manager := one[appsv1.Deployment](t, objects, "Deployment")
			budget := one[policyv1.PodDisruptionBudget](t, objects, "PodDisruptionBudget")
			if diff := cmp.Diff(manager.Spec.Selector, budget.Spec.Selector); diff != "" || budget.Namespace != manager.Namespace {
				t.Errorf("the PodDisruptionBudget is about other pods, in %s (-want +got):\n%s", budget.Namespace, diff)
			}
			always := policyv1.AlwaysAllow
			want := policyv1.PodDisruptionBudgetSpec{
				Selector: manager.Spec.Selector, MaxUnavailable: new(intstr.FromInt32(1)), UnhealthyPodEvictionPolicy: &always,
			}
			if diff := cmp.Diff(want, budget.Spec); diff != "" {
				t.Errorf("the PodDisruptionBudget (-want +got):\n%s", diff)
			}
			spread := []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
				LabelSelector: manager.Spec.Selector, MatchLabelKeys: []string{appsv1.DefaultDeploymentUniqueLabelKey},
			}}
			if diff := cmp.Diff(spread, manager.Spec.Template.Spec.TopologySpreadConstraints); diff != "" {
				t.Errorf("how the pods are spread (-want +got):\n%s", diff)
			}
		})
	}
}

// The image contains what the manager's Deployment starts, for the user that the Deployment names.
func TestDockerfile(t *testing.T) {
	content, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	pod := one[appsv1.Deployment](t, render(t, "default"), "Deployment").Spec.Template.Spec
	command := pod.Containers[0].Command
	for _, line := range []string{
		"FROM scratch", fmt.Sprintf("COPY manager %s", command[0]), fmt.Sprintf("ENTRYPOINT [%q]", command[0]),
		fmt.Sprintf("USER %d:%d", *pod.SecurityContext.RunAsUser, *pod.SecurityContext.RunAsGroup),
	} {
		if !slices.Contains(strings.Split(string(content), "\n"), line) {
			t.Errorf("the Dockerfile has no line %q", line)
		}
	}
}

// make deploy installs the images that its variables name, and make undeploy removes everything again.
func TestDeployTargets(t *testing.T) {
	kubectl := filepath.Join(t.TempDir(), "kubectl")
	written := filepath.Join(t.TempDir(), "written")
	rendered := t.TempDir()
	for _, name := range []string{"default", "crd"} {
		var text strings.Builder
		for _, object := range render(t, name) {
			content, err := yaml.Marshal(object.Object)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, "---\n%s", content)
		}
		if err := os.WriteFile(filepath.Join(rendered, name), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// It renders as kubectl does, and records what it should apply or delete.
	script := fmt.Sprintf("#!/bin/sh\ncase $1 in\nkustomize) cat %s/$(basename $2) ;;\n*) echo \"$*\" >%[2]s; cat >>%[2]s ;;\nesac\n", rendered, written)
	if err := os.WriteFile(kubectl, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	// A large CustomResourceDefinition does not fit into the annotation that kubectl needs without --server-side.
	const apply, remove = "apply --server-side --force-conflicts -f -", "delete --ignore-not-found=false -f -"
	for target, want := range map[string]string{"install": apply + " crd", "uninstall": remove + " crd", "deploy": apply + " default", "undeploy": remove + " default"} {
		t.Run(target, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), "make", "--file=Makefile", "--silent", "--old-file=manifests", target,
				"KUBECTL="+kubectl, "IMG=registry.example.com/operator:2", "MEMCACHED_IMAGE=registry.example.com/memcached:3")
			if output, err := command.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, output)
			}
			content, err := os.ReadFile(written)
			if err != nil {
				t.Fatal(err)
			}
			verb, text, _ := strings.Cut(string(content), "\n")
			what := "crd"
			if strings.Contains(text, "kind: Deployment\n") {
				what = "default"
			}
			if got := verb + " " + what; got != want {
				t.Errorf("kubectl is to %s, want %s", got, want)
			}
			if target != "deploy" {
				return
			}
			for _, wanted := range []string{`image: "?registry.example.com/operator:2"?\n`, `name: MEMCACHED_IMAGE\n +value: "registry.example.com/memcached:3"\n`} {
				if !regexp.MustCompile(wanted).MatchString(text) {
					t.Errorf("%s is not deployed", wanted)
				}
			}
		})
	}
}

// make run starts the operator without webhooks, which the API server could not call.
func TestRunTarget(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "make", "--file=Makefile", "--dry-run", "run").CombinedOutput()
	if err != nil || !strings.Contains(string(output), "ENABLE_WEBHOOKS=false go run ./cmd\n") {
		t.Errorf("make run does %s, %v", output, err)
	}
}

// The API server calls the webhooks through the right Service, for exactly the requests that the operator validates. It refuses
// these while no replica responds.
func TestWebhookConfigurations(t *testing.T) {
	objects := render(t, "default")
	got := map[string]string{}
	describe := func(name string, client admissionregistrationv1.WebhookClientConfig, rules []admissionregistrationv1.RuleWithOperations,
		policy *admissionregistrationv1.FailurePolicyType, effects *admissionregistrationv1.SideEffectClass, seconds *int32, conditions int, rest ...bool) {
		if len(rules) != 1 || conditions != 1 || *policy != admissionregistrationv1.Fail || *effects != admissionregistrationv1.SideEffectClassNone || *seconds > 10 || slices.Contains(rest, true) {
			t.Errorf("%s: %d rules, %d conditions, %s, side effects %s, %ds, or it is limited", name, len(rules), conditions, *policy, *effects, *seconds)
			return
		}
		rule := rules[0]
		if rule.Scope != nil || !slices.Equal(rule.APIGroups, []string{"cache.example.com"}) || !slices.Equal(rule.APIVersions, []string{"v1alpha1"}) {
			t.Errorf("%s: it is asked about %+v", name, rule)
		}
		port := int32(443)
		if client.Service.Port != nil {
			port = *client.Service.Port
		}
		got[name] = fmt.Sprintf("%s:%d%s %s %s", client.Service.Name, port, *client.Service.Path, rule.Operations, rule.Resources)
	}
	for _, w := range one[admissionregistrationv1.MutatingWebhookConfiguration](t, objects, "MutatingWebhookConfiguration").Webhooks {
		describe(w.Name, w.ClientConfig, w.Rules, w.FailurePolicy, w.SideEffects, w.TimeoutSeconds, len(w.MatchConditions), w.MatchPolicy != nil, w.NamespaceSelector != nil, w.ObjectSelector != nil, w.ReinvocationPolicy != nil)
	}
	for _, w := range one[admissionregistrationv1.ValidatingWebhookConfiguration](t, objects, "ValidatingWebhookConfiguration").Webhooks {
		describe(w.Name, w.ClientConfig, w.Rules, w.FailurePolicy, w.SideEffects, w.TimeoutSeconds, len(w.MatchConditions), w.MatchPolicy != nil, w.NamespaceSelector != nil, w.ObjectSelector != nil)
	}
	want := map[string]string{
		"mmemcached-v1alpha1.kb.io":      "operator-webhook-service:443/mutate-cache-example-com-v1alpha1-memcached [CREATE UPDATE] [memcacheds]",
		"vmemcached-v1alpha1.kb.io":      "operator-webhook-service:443/validate-cache-example-com-v1alpha1-memcached [CREATE UPDATE DELETE] [memcacheds]",
		"vmemcachedscale-v1alpha1.kb.io": "operator-webhook-service:443/validate-cache-example-com-v1alpha1-memcached-scale [UPDATE] [memcacheds/scale]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("webhooks (-want +got):\n%s", diff)
	}
}

// Each Service leads to one port of the manager's pods.
func TestServices(t *testing.T) {
	objects := render(t, "default")
	selector := one[appsv1.Deployment](t, objects, "Deployment").Spec.Selector.MatchLabels
	got := map[string]string{}
	for _, service := range all[corev1.Service](t, objects, "Service") {
		// Only to pods that are ready, and only within the cluster.
		if diff := cmp.Diff(corev1.ServiceSpec{Selector: selector, Ports: service.Spec.Ports}, service.Spec); diff != "" {
			t.Errorf("%s is another one (-want +got):\n%s", service.Name, diff)
		}
		for _, port := range service.Spec.Ports {
			got[service.Name] += fmt.Sprintf("%s %d to %s", port.Name, port.Port, port.TargetPort.String())
		}
	}
	want := map[string]string{
		"operator-webhook-service":                    "https 443 to webhook",
		"operator-controller-manager-metrics-service": "https 8443 to metrics",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Services (-want +got):\n%s", diff)
	}
}

// Any client may connect to the webhooks, and namespaces with a label to the metrics. The manager may connect to everything.
func TestNetworkPolicies(t *testing.T) {
	got := map[string]string{}
	for _, policy := range all[networkingv1.NetworkPolicy](t, render(t, "network-policy"), "NetworkPolicy") {
		got[policy.Name] = fmt.Sprint(policy.Spec.PolicyTypes)
		for _, rule := range policy.Spec.Ingress {
			for _, port := range rule.Ports {
				got[policy.Name] += fmt.Sprintf(" %s", *port.Protocol)
			}
			for _, peer := range rule.From {
				if peer.PodSelector != nil || peer.IPBlock != nil {
					t.Errorf("%s: %+v", policy.Name, peer)
					continue
				}
				got[policy.Name] += fmt.Sprintf(" from %v", peer.NamespaceSelector.MatchLabels)
			}
		}
	}
	want := map[string]string{"operator-allow-webhook-traffic": "[Ingress] TCP", "operator-allow-metrics-traffic": "[Ingress] TCP from map[metrics:enabled]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("NetworkPolicies (-want +got):\n%s", diff)
	}
}

// Prometheus trusts the operator's certificate authority for a name that every certificate has, and sends a token that may only read
// the metrics. It reads no file of its own pod for that, because clusters such as OpenShift forbid it.
func TestServiceMonitor(t *testing.T) {
	monitor := objectOf(t, render(t, "prometheus"), "ServiceMonitor")
	endpoints, _, err := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	if err != nil || len(endpoints) != 1 {
		t.Fatalf("endpoints: %v, %v", endpoints, err)
	}
	var named []string
	for _, r := range roles(t, render(t, "default")) {
		for _, rule := range r.rules {
			if slices.Contains(rule.Resources, "secrets") {
				named = append(named, rule.ResourceNames...)
			}
		}
	}
	if len(named) != 1 {
		t.Fatalf("the operator keeps its authority in %q", named)
	}
	want := map[string]any{
		"path": "/metrics", "port": "https", "scheme": "https", "honorLabels": true,
		"authorization": map[string]any{"credentials": map[string]any{"name": "operator-prometheus-token", "key": "token"}},
		"relabelings":   []any{map[string]any{"targetLabel": "job", "replacement": "memcached-operator"}},
		"tlsConfig": map[string]any{
			"serverName": "metrics.memcached-operator.cache.example.com",
			"ca":         map[string]any{"secret": map[string]any{"name": named[0], "key": "ca.crt"}},
		},
	}
	if diff := cmp.Diff(want, endpoints[0]); diff != "" {
		t.Errorf("the endpoint (-want +got):\n%s", diff)
	}
	objects := render(t, "prometheus")
	token, account := one[corev1.Secret](t, objects, "Secret"), one[corev1.ServiceAccount](t, objects, "ServiceAccount")
	if token.Name != "operator-prometheus-token" || token.Type != corev1.SecretTypeServiceAccountToken || token.Annotations[corev1.ServiceAccountNameKey] != account.Name {
		t.Errorf("the Secret %s of type %s is for %q", token.Name, token.Type, token.Annotations[corev1.ServiceAccountNameKey])
	}
	binding := one[rbacv1.ClusterRoleBinding](t, objects, "ClusterRoleBinding")
	if subject := binding.Subjects[0]; subject.Name != account.Name || subject.Namespace != account.Namespace || token.Namespace != monitor.GetNamespace() {
		t.Errorf("the permission is for %+v", subject)
	}
	role := one[rbacv1.ClusterRole](t, objects, "ClusterRole")
	if len(role.Rules) != 1 || ruleText(role.Rules[0]) != "get [/metrics]" || binding.RoleRef.Name != role.Name {
		t.Errorf("the token may %+v", role.Rules)
	}
}

// cert-manager issues the certificate that the manager mounts, and puts its authority into both webhook configurations.
func TestCertManager(t *testing.T) {
	objects := render(t, "default-cert-manager")
	certificate := objectOf(t, objects, "Certificate")
	field := func(fields ...string) string {
		value, _, err := unstructured.NestedString(certificate.Object, fields...)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	if issuer := objectOf(t, objects, field("spec", "issuerRef", "kind")); issuer.GetName() != field("spec", "issuerRef", "name") {
		t.Errorf("the Issuer is %s, and the Certificate names %s", issuer.GetName(), field("spec", "issuerRef", "name"))
	}
	pod := one[appsv1.Deployment](t, objects, "Deployment").Spec.Template.Spec
	if secret := pod.Volumes[0].Secret.SecretName; secret != field("spec", "secretName") || pod.Containers[0].VolumeMounts[0].Name != pod.Volumes[0].Name {
		t.Errorf("the Secret %s is mounted, and the Certificate is kept in %s", secret, field("spec", "secretName"))
	}
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		if from := objectOf(t, objects, kind).GetAnnotations()["cert-manager.io/inject-ca-from"]; from != certificate.GetNamespace()+"/"+certificate.GetName() {
			t.Errorf("the %s trusts %q", kind, from)
		}
	}
}

// The rules of each role except manager-role, which a test of the controller covers verb by verb.
func TestOtherRoles(t *testing.T) {
	want := map[string][]string{
		"operator-leader-election-role": {
			"create coordination.k8s.io/leases", "get,update coordination.k8s.io/leases [memcached-operator.cache.example.com]", "create /events",
		},
		"operator-metrics-auth-role": {"create authentication.k8s.io/tokenreviews", "create authorization.k8s.io/subjectaccessreviews"},
		"operator-metrics-reader":    {"get [/metrics]"},
		"operator-certificates-role": {"create /secrets", "list,watch,update /secrets [operator-webhook-ca]"},
		"operator-webhook-trust-role": {
			"list,watch,patch admissionregistration.k8s.io/mutatingwebhookconfigurations [operator-mutating-webhook-configuration]",
			"list,watch,patch admissionregistration.k8s.io/validatingwebhookconfigurations [operator-validating-webhook-configuration]",
		},
	}
	got := map[string][]string{}
	for _, r := range roles(t, render(t, "default")) {
		if _, ok := want[r.name]; !ok {
			continue
		}
		for _, rule := range r.rules {
			got[r.name] = append(got[r.name], ruleText(rule))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

func ruleText(rule rbacv1.PolicyRule) string {
	text := strings.Join(rule.Verbs, ",") + " "
	if len(rule.NonResourceURLs) > 0 {
		return text + fmt.Sprint(rule.NonResourceURLs)
	}
	text += strings.Join(rule.APIGroups, ",") + "/" + strings.Join(rule.Resources, ",")
	if len(rule.ResourceNames) > 0 {
		text += fmt.Sprintf(" %v", rule.ResourceNames)
	}
	return text
}
