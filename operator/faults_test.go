package operator_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fault is a mistake in one of the operator's files that is not code, with the test that has to fail because of it.
type fault struct {
	file, old, new string
	test           string
	says           string // a part of what it fails with
}

var faults = map[string]fault{
	"an overlay keeps an old name": {
		"config/prometheus/kustomizeconfig.yaml", "path: spec/endpoints/tlsConfig/ca/secret/name", "path: spec/endpoints/none",
		"TestOverlaysKeepNoOldName", "an old name: ServiceMonitor",
	},
	"a token keeps the old name of its ServiceAccount": {
		"config/prometheus/kustomizeconfig.yaml", `path: metadata/annotations/kubernetes.io\/service-account.name`, "path: metadata/annotations/none",
		"TestOverlaysKeepNoOldName", "an old name: Secret",
	},
	"the manager runs on any node": {
		"config/manager/manager.yaml", "        kubernetes.io/os: linux\n", "        kubernetes.io/arch: amd64\n",
		"TestNodesAndMeshes", "node selector (-want +got)",
	},
	"a mesh adds a container": {
		"config/manager/manager.yaml", `sidecar.istio.io/inject: "false"`, `sidecar.istio.io/inject: "true"`,
		"TestNodesAndMeshes", "labels map[",
	},
	"the webhooks' port is in the flag only": {
		"config/webhook-port/kustomization.yaml", "ports.[name=webhook].containerPort", "ports.[name=metrics].containerPort",
		"TestWebhookPort", "the ports are",
	},
	"the webhooks' port is in the container only": {
		"config/webhook-port/kustomization.yaml", "args.[=--webhook-bind-address=:9443]", "args.[=--health-probe-bind-address=:8081]",
		"TestWebhookPort", "Deployment operator-controller-manager is there, or has the old port",
	},
	"the manager keeps its user": {
		"config/omit-run-as-user/kustomization.yaml", "    - op: remove\n      path: /spec/template/spec/securityContext/runAsUser\n", "",
		"TestOmitRunAsUser", "the manager's security context is",
	},
	"memcached keeps its user": {
		"config/omit-run-as-user/kustomization.yaml", "value: --omit-run-as-user", "value: --omit-run-as-user=false",
		"TestOmitRunAsUser", "the flags are",
	},
	"the replicas share a node": {
		"config/manager/manager.yaml", "whenUnsatisfiable: ScheduleAnyway", "whenUnsatisfiable: DoNotSchedule",
		"TestManagerStaysWhileNodesAreDrained", "how the pods are spread",
	},
	"nothing keeps a replica while a node is drained": {
		"config/manager/kustomization.yaml", "- disruption_budget.yaml\n", "",
		"TestManagerStaysWhileNodesAreDrained", "there are 0 PodDisruptionBudgets",
	},
	"there is one replica": {
		"config/manager/manager.yaml", "  replicas: 2\n", "  replicas: 1\n",
		"TestManagerStays", "1 replicas are replaced by",
	},
	"a CustomResourceDefinition is applied by the client": {
		"Makefile", "kustomize config/crd | $(KUBECTL) apply --server-side --force-conflicts -f -", "kustomize config/crd | $(KUBECTL) apply -f -",
		"TestDeployTargets/^install$", "kubectl is to apply -f - crd",
	},
	"the operator is applied by the client": {
		"Makefile", "$(manifests-with-images) | $(KUBECTL) apply --server-side --force-conflicts -f -", "$(manifests-with-images) | $(KUBECTL) apply -f -",
		"TestDeployTargets/^deploy$", "kubectl is to apply -f - default",
	},
	"the API server calls replicas that are not ready": {
		"config/webhook/service.yaml", "spec:\n", "spec:\n  publishNotReadyAddresses: true\n",
		"TestServices", "operator-webhook-service is another one",
	},
	"a flag that slows everything down": {
		"config/manager/manager.yaml", "        - --leader-elect\n", "        - --leader-elect\n        - --max-concurrent-reconciles=1\n",
		"TestManagerSetsNothingElse", "flags (-want +got)",
	},
	"a deadline that no rollout meets": {
		"config/manager/manager.yaml", "  replicas: 2\n", "  replicas: 2\n  progressDeadlineSeconds: 1\n",
		"TestManagerSetsNothingElse", "fields that the Deployment sets",
	},
	"a replica that is not asked for ten minutes": {
		"config/manager/manager.yaml", "initialDelaySeconds: 5\n", "initialDelaySeconds: 600\n",
		"TestManagerSetsNothingElse", "whether it is ready after 600s",
	},
	"an alert that comes an hour late": {
		"config/prometheus/alerts.yaml", "absent(up{job=\"memcached-operator\"} == 1)\n      for: 10m", "absent(up{job=\"memcached-operator\"} == 1)\n      for: 70m",
		"TestAlerts", "critical after 70m",
	},
	"Prometheus reads its own token": {
		"config/prometheus/monitor.yaml",
		"    authorization:\n      credentials:\n        name: operator-prometheus-token\n        key: token\n",
		"    bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token\n",
		"TestServiceMonitor", "the endpoint (-want +got)",
	},
	"a tenant may not grant what the operator needs": {
		"config/tenants/kustomization.yaml", `aggregate-to-admin: "true"`, `aggregate-to-admin: "false"`,
		"TestTenantsMayGrantWhatTheOperatorNeeds", "admin does not contain",
	},
	"an alert asks for a metric that there is not": {
		"config/prometheus/alerts.yaml", "memcached_operator_webhook_errors_total", "memcached_operator_webhook_failures_total",
		"TestAlerts", "the operator does not export memcached_operator_webhook_failures_total",
	},
}

// Each fault makes a test fail that names it. The tests run a second time, as another process, in a copy of the operator's directory.
func TestFaultsAreNoticed(t *testing.T) {
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(f.file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(string(content), f.old) != 1 {
				t.Fatalf("%s has %q %d times, want once", f.file, f.old, strings.Count(string(content), f.old))
			}
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+strings.Replace(f.test, "/", "$/", 1)+"$")
			command.Dir = copyWith(t, f.file, strings.Replace(string(content), f.old, f.new, 1))
			output, err := command.CombinedOutput()
			if err == nil || !strings.Contains(string(output), f.says) {
				t.Errorf("%s does not say %q: %v\n%s", f.test, f.says, err, output)
			}
		})
	}
}

// copyWith returns a copy of the operator's directory, beside links to the repository's other ones, in which a file has another content.
func copyWith(t *testing.T, file, content string) string {
	t.Helper()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	// In a project of one's own, the directory has another name.
	root, name := filepath.Split(here)
	copied := t.TempDir()
	link := func(directory, except string) {
		t.Helper()
		entries, err := os.ReadDir(filepath.Join(root, directory))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if entry.Name() == except {
				continue
			}
			if err := os.Symlink(filepath.Join(root, directory, entry.Name()), filepath.Join(copied, directory, entry.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	link("", name)
	operator := filepath.Join(copied, name)
	top, _, nested := strings.Cut(filepath.ToSlash(file), "/")
	err = os.Mkdir(operator, 0o700)
	link(name, top)
	if err == nil && nested {
		err = os.CopyFS(filepath.Join(operator, top), os.DirFS(top))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(operator, file), []byte(content), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return operator
}
