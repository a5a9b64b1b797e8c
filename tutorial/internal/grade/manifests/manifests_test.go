package manifests_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/reaper"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/grade/manifests"
	"github.com/example/operator-testbed/tutorial/internal/isolation"
)

const tutorial = "../../../../tutorial"

func TestMain(m *testing.M) {
	isolation.Main()
	manifests.Main()
	os.Exit(reaper.Run(m))
}

// render renders a directory config.
func render(t *testing.T, config string) manifests.Rendered {
	t.Helper()
	rendered, err := manifests.Render(config)
	if err != nil {
		t.Fatal(err)
	}
	return rendered
}

// TestChapters judges the manifests of each chapter by themselves, and by those of others.
func TestChapters(t *testing.T) {
	chapters, err := chapter.ReadAll(tutorial)
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]manifests.Allowed{}
	for _, c := range chapters {
		rendered := render(t, filepath.Join(tutorial, "..", c.OperatorDirectory(), "config"))
		if allowed[c.Name], err = manifests.AllowedBy("the operator of "+c.Name, rendered); err != nil {
			t.Fatal(err)
		}
		if err := manifests.Judge(rendered, allowed[c.Name]); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	of05 := render(t, filepath.Join(tutorial, "04-status", "config"))
	if err := manifests.Judge(of05, allowed["06-watches"]); err != nil {
		t.Errorf("the manifests that 06-watches starts with, which have get besides list: %v", err)
	}
	const want = "ClusterRole operator-manager-role: it grants create events.events.k8s.io, list pods, patch events.events.k8s.io, 2 more, " +
		"which the operator of 03-controller does not need; remove that from your markers, and run make manifests"
	if err := manifests.Judge(of05, allowed["03-controller"]); err == nil || err.Error() != want {
		t.Errorf("got %v, expected %s", err, want)
	}
}

// write adds files to a copy of the manifests of 12-certificates, which have all kinds of them. What is written to a file that starts with
// + is added at its end.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	config := t.TempDir()
	if err := os.CopyFS(config, os.DirFS(filepath.Join(tutorial, "12-certificates", "config"))); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
		if strings.HasPrefix(name, "+") {
			flags = os.O_WRONLY | os.O_APPEND
		}
		path := filepath.Join(config, strings.TrimPrefix(name, "+"))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		file, err := os.OpenFile(path, flags, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return config
}

// more is a kustomization that also has the manifests in more.yaml.
func more(text string) map[string]string {
	return map[string]string{"+default/kustomization.yaml": "- more.yaml\n", "default/more.yaml": text}
}

// fields is a kustomization with the lines.
func fields(lines string) map[string]string {
	return map[string]string{"default/kustomization.yaml": lines}
}

// definition is the CustomResourceDefinition of 12-certificates with one text in place of another.
func definition(t *testing.T, old, replacement string) map[string]string {
	t.Helper()
	const name = "crd/bases/cache.example.com_memcacheds.yaml"
	text, err := os.ReadFile(filepath.Join(tutorial, "12-certificates", "config", name))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), old) != 1 {
		t.Fatalf("%s has %q %d times, expected once", name, old, strings.Count(string(text), old))
	}
	return map[string]string{name: strings.Replace(string(text), old, replacement, 1)}
}

// TestRefused refuses manifests for what they would fetch or grant, and names the object.
func TestRefused(t *testing.T) {
	const rbac = "apiVersion: rbac.authorization.k8s.io/v1\n"
	const role = "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "
	const account = "subjects: [{kind: ServiceAccount, name: operator-controller-manager, namespace: operator-system}]\n"
	const defaulted = "CustomResourceDefinition memcacheds.cache.example.com: in version v1alpha1, the object"
	allowed, err := manifests.AllowedBy("the operator of 12-certificates", render(t, write(t, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  string // the start of the sentence; empty where it is allowed
	}{
		"nothing more": {nil, ""},
		"a ConfigMap":  {more("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: system}\n"), ""},

		"a remote base":          {fields("resources: ['https://example.com/base']\n"), `config/default/kustomization.yaml names "https://example.com/base", which`},
		"a repository":           {fields("resources: ['github.com/org/repository//config?ref=main']\n"), `config/default/kustomization.yaml names "github.com/org`},
		"a repository by SSH":    {fields("components: ['git@github.com:org/repository']\n"), `config/default/kustomization.yaml names "git@github.com:org`},
		"a directory like a URL": {map[string]string{"default/kustomization.yaml": "resources: [github.com/org/x]\n", "default/github.com/org/x/kustomization.yaml": ""}, `config/default/kustomization.yaml names "github.com/org/x"`},
		"a remote patch":         {fields("patches: [{path: 'https://example.com/patch.yaml'}]\n"), `config/default/kustomization.yaml names "https://example.com/patch.yaml", which`},
		"a file outside":         {fields("resources: [../../../../../../etc/hosts.yaml]\n"), `config/default/kustomization.yaml names "../../../../../../etc/hosts.yaml", which`},
		"an absolute path":       {fields("resources: [/etc/hosts.yaml]\n"), `config/default/kustomization.yaml names "/etc/hosts.yaml", which`},
		"a chart":                {fields("helmCharts: [{name: x, repo: 'https://example.com'}]\n"), "config/default/kustomization.yaml uses helmCharts, which is not allowed"},
		"a plugin":               {fields("transformers: [plugin.yaml]\n"), "config/default/kustomization.yaml uses transformers, which is not allowed"},
		"a plugin in capitals":   {fields("TRANSFORMERS: [plugin.yaml]\n"), "config/default/kustomization.yaml uses TRANSFORMERS, which is not allowed"},
		"not a kustomization":    {fields("- 1\n"), "config/default/kustomization.yaml is not a kustomization: "},
		"an unused one":          {map[string]string{"elsewhere/Kustomization": "generators: [x.yaml]\n"}, "config/elsewhere/Kustomization uses generators"},
		"a cycle":                {fields("resources: [../default]\n"), "config/default can't be rendered: "},

		"an unknown kind":        {more("apiVersion: v1\nkind: Pod\nmetadata: {name: evil}\n"), "Pod operator-evil: manifests of the operator of 12-certificates may not have a Pod"},
		"a kind in a file":       {map[string]string{"samples/evil.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: evil}\n"}, "Job evil: manifests of the operator"},
		"a cluster-admin beside": {map[string]string{"local/all.yaml": rbac + "kind: ClusterRoleBinding\nmetadata: {name: x}\n" + role + "cluster-admin}\n" + account}, "ClusterRoleBinding x: it is about the ClusterRole cluster-admin"},
		"a file for a directory": {map[string]string{"local": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: evil}\n"}, "Job evil: manifests of the operator"},
		"policies":               {map[string]string{"policy/policies.yaml": rbac + "kind: ClusterRoleBinding\nmetadata: {name: x}\n" + role + "cluster-admin}\n" + account}, "ClusterRoleBinding x: it is about the ClusterRole cluster-admin"},
		"policies beside a kustomization": {map[string]string{
			"policy/kustomization.yaml": "resources: [none.yaml]\n", "policy/none.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
			"policy/policies.yaml": rbac + "kind: ClusterRoleBinding\nmetadata: {name: x}\n" + role + "cluster-admin}\n" + account,
		}, "ClusterRoleBinding x: it is about the ClusterRole cluster-admin"},
		"not YAML":                {map[string]string{"policy/policies.yaml": "{]\n"}, "config/policy/policies.yaml can't be read: "},
		"a CRD by another ending": {map[string]string{"crd/bases/x.yxml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x.example.com}\nspec: {conversion: {strategy: Webhook}}\n"}, "CustomResourceDefinition x.example.com: it is converted by a webhook"},
		"a role that another file binds": {map[string]string{
			"policy/policies.yaml": rbac + "kind: ClusterRole\nmetadata: {name: operator-manager-role}\nrules: [{nonResourceURLs: [/metrics], verbs: [get]}]\n",
		}, "ClusterRole operator-manager-role: it grants get /metrics, which"},
		"a second document":           {map[string]string{"samples/evil.yaml": "{]\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: evil}\n"}, "Job evil: manifests of the operator"},
		"a converted CRD":             {more("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x.example.com}\nspec: {conversion: {strategy: Webhook}}\n"), "CustomResourceDefinition x.example.com: it is converted by a webhook"},
		"another object type":         {more("apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: [1]\n"), "Service operator-x: it is not what its kind says: "},
		"a default in the spec":       {definition(t, "default: 11211", "default: 11212"), ""},
		"a status by default":         {definition(t, "\n          status:\n", "\n          status:\n            default: {conditions: [{type: Available, status: 'True'}]}\n"), defaulted + "'s .status has a default"},
		"a default within the status": {definition(t, "\n          status:\n            description:", "\n          status:\n            items: {default: 1}\n            description:"), defaulted + "'s .status[] has a default"},
		"a default of everything":     {definition(t, "    openAPIV3Schema:\n", "    openAPIV3Schema:\n        default: {status: {nodes: [a]}}\n"), defaulted + " has a default"},
		"a field called default":      {definition(t, "\n          status:\n", "\n          status:\n            patternProperties: {default: {type: string}}\n"), ""},
		"a patched status":            {fields("resources: [../crd]\npatches: [{target: {kind: CustomResourceDefinition}, patch: '[{\"op\": \"add\", \"path\": \"/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/nodes/default\", \"value\": [\"a\"]}]'}]\n"), defaulted + "'s .status.nodes has a default"},
		"a status that a user writes": {definition(t, "\n      status: {}\n", "\n"), "CustomResourceDefinition memcacheds.cache.example.com: version v1alpha1 lacks the status subresource"},
		"a ready-made object":         {more("apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: x, namespace: system}\n"), "Memcached operator-x: it is an example, which is not part of config/default"},
		"a ready-made Deployment":     {more("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x, namespace: system}\nspec: {template: {spec: {serviceAccountName: controller-manager}}}\n"), "Deployment operator-x: config/default has 2 Deployments, and the operator of 12-certificates needs 1 Deployment there"},
		"a Deployment among examples": {map[string]string{"+samples/kustomization.yaml": "- x.yaml\n", "samples/x.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n"}, "Deployment x: config/samples has 1 Deployment, and the operator of 12-certificates needs none there"},
		"a Service outside":           {more("apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {type: ExternalName, externalName: example.com}\n"), "Service operator-x: it leads out of the cluster"},
		"a Secret's reader":           {more(rbac + "kind: ClusterRole\nmetadata: {name: x}\nrules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]\n"), "ClusterRole operator-x: it grants get secrets, which"},
		"every permission":            {more(rbac + "kind: ClusterRole\nmetadata: {name: x}\nrules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]\n"), "ClusterRole operator-x: it grants * *.*, which"},
		"aggregation":                 {more(rbac + "kind: ClusterRole\nmetadata: {name: x}\naggregationRule: {clusterRoleSelectors: [{}]}\n"), "ClusterRole operator-x: it gets its rules from other roles"},
		"a wider scope": {more(rbac + "kind: ClusterRole\nmetadata: {name: x}\nrules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}]\n---\n" +
			rbac + "kind: ClusterRoleBinding\nmetadata: {name: x}\n" + role + "x}\n" + account), "ClusterRole operator-x: it grants create leases.coordination.k8s.io, which"},
		"viewers' permissions, bound": {more(rbac + "kind: ClusterRoleBinding\nmetadata: {name: x}\n" + role + "metrics-reader}\n" + account), "ClusterRole operator-metrics-reader: it grants get /metrics, which"},
		"cluster-admin":               {more(rbac + "kind: ClusterRoleBinding\nmetadata: {name: x}\n" + role + "cluster-admin}\n" + account), "ClusterRoleBinding operator-x: it is about the ClusterRole cluster-admin, which is not one of your own"},
		"a foreign group":             {more(rbac + "kind: ClusterRoleBinding\nmetadata: {name: x}\n" + role + "manager-role}\nsubjects: [{kind: Group, name: 'system:authenticated'}]\n"), "ClusterRoleBinding operator-x: it is about the Group system:authenticated, which is not one of your own"},
		"a foreign account":           {more(rbac + "kind: ClusterRoleBinding\nmetadata: {name: x}\n" + role + "manager-role}\nsubjects: [{kind: ServiceAccount, name: other, namespace: operator-system}]\n"), "ClusterRoleBinding operator-x: it is about the ServiceAccount other"},

		"a namespace of Kubernetes'": {map[string]string{"default/kustomization.yaml": "namespace: kube-system\nresources: [../manager, ../rbac]\n"}, "Namespace kube-system: the namespace kube-system belongs to Kubernetes"},
		"a role of Kubernetes'":      {map[string]string{"default/kustomization.yaml": "resources: [../crd, more.yaml]\n", "default/more.yaml": rbac + "kind: ClusterRole\nmetadata: {name: cluster-admin}\n"}, "ClusterRole cluster-admin: the role belongs to Kubernetes"},
		"a variable":                 {fields("resources: [../crd, ../rbac, ../manager]\nnamespace: operator-system\npatches: [{target: {kind: Deployment}, patch: '[{\"op\": \"add\", \"path\": \"/spec/template/spec/containers/0/env/-\", \"value\": {\"name\": \"LD_PRELOAD\", \"value\": \"x\"}}]'}]\n"), "Deployment controller-manager: the variable LD_PRELOAD is not one of the operator's"},
		"another account":            {fields("resources: [../crd, ../rbac, ../manager]\nnamespace: operator-system\npatches: [{target: {kind: Deployment}, patch: '[{\"op\": \"replace\", \"path\": \"/spec/template/spec/serviceAccountName\", \"value\": \"default\"}]'}]\n"), "Deployment controller-manager: its ServiceAccount \"default\" is not among the manifests"},
		"a URL": {map[string]string{"default/kustomization.yaml": "resources: [../crd, more.yaml]\n", "default/more.yaml": "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: x}\nwebhooks: [{name: x.example.com, clientConfig: {url: 'https://example.com'}}]\n"},
			"ValidatingWebhookConfiguration x: it calls a URL"},
		"a webhook for pods": {more("apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: x}\nwebhooks: [{name: x.example.com, clientConfig: {service: {name: webhook-service, namespace: system}}, rules: [{operations: [UPDATE], apiGroups: [''], apiVersions: [v1], resources: [pods/status]}]}]\n"),
			"MutatingWebhookConfiguration operator-x: it is asked about UPDATE pods/status, which"},
		"a webhook that may only object": {more("apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: x}\nwebhooks: [{name: x.example.com, clientConfig: {service: {name: webhook-service, namespace: system}}, rules: [{operations: [UPDATE], apiGroups: [cache.example.com], apiVersions: [v1alpha1], resources: [memcacheds/scale]}]}]\n"), ""},
		"a webhook that changes instead": {more("apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: x}\nwebhooks: [{name: x.example.com, clientConfig: {service: {name: webhook-service, namespace: system}}, rules: [{operations: [UPDATE], apiGroups: [cache.example.com], apiVersions: [v1alpha1], resources: [memcacheds/scale]}]}]\n"),
			"MutatingWebhookConfiguration operator-x: it changes UPDATE memcacheds/scale.cache.example.com, which"},
		"a policy that changes the status": {map[string]string{"policy/policies.yaml": "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: x}\nspec: {matchConstraints: {resourceRules: [{operations: [UPDATE], apiGroups: [cache.example.com], apiVersions: [v1alpha1], resources: [memcacheds/status]}]}}\n"},
			"MutatingAdmissionPolicy x: it is asked about UPDATE memcacheds/status.cache.example.com, which"},
	} {
		t.Run(name, func(t *testing.T) {
			rendered, err := manifests.Render(write(t, test.files))
			if err == nil {
				err = manifests.Judge(rendered, allowed)
			}
			refusal := manifests.RefusedError("")
			switch {
			case test.want == "" && err != nil:
				t.Errorf("got %v, expected no error", err)
			case test.want != "" && (!errors.As(err, &refusal) || !strings.HasPrefix(err.Error(), test.want)):
				t.Errorf("got %v, expected %s", err, test.want)
			}
		})
	}
}

func TestLinksAreRefused(t *testing.T) {
	config := write(t, nil)
	if err := os.Symlink("/etc/hosts", filepath.Join(config, "default", "more.yaml")); err != nil {
		t.Fatal(err)
	}
	_, err := manifests.Render(config)
	if want := manifests.RefusedError("config/default/more.yaml is not a regular file: replace it by one"); !errors.Is(err, want) {
		t.Errorf("got %v, expected %v", err, want)
	}
}

// walls returns none: what they keep out is tested elsewhere.
func walls(t *testing.T) isolation.Walls {
	t.Helper()
	none, err := isolation.Choose(t.Context(), isolation.WantNone)
	if err != nil {
		t.Fatal(err)
	}
	return none
}

// noted notes the command.
type noted struct {
	isolation.Walls

	command *isolation.Command
}

func (n noted) Run(ctx context.Context, c isolation.Command) (isolation.Usage, error) {
	*n.command = c
	return n.Walls.Run(ctx, c)
}

// TestRenderIn renders in a process without a PATH, and gets the same.
func TestRenderIn(t *testing.T) {
	config := write(t, nil)
	var command isolation.Command
	got, err := manifests.RenderIn(t.Context(), noted{walls(t), &command}, config, isolation.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(render(t, config))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil || string(text) != string(want) {
		t.Errorf("got %s, %v, expected %s", text, err, want)
	}
	if !slices.Contains(command.Env, "PATH=") || len(command.Writable) > 0 {
		t.Errorf("the renderer can run programs or write: %+v", command)
	}
	if names := slices.Sorted(maps.Keys(got.Loaded)); !reflect.DeepEqual(names, []string{"crd", "crd/bases", "default", "policy", "policy/policies.yaml", "samples"}) {
		t.Errorf("loaded %v", names)
	}
	// Whatever a student writes, that it can't be rendered is a refusal. An error would be the grader's, and no grade.
	large := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {x: " + strings.Repeat("x", 3<<20) + "}\n"
	for want, files := range map[string]map[string]string{
		"config/default/kustomization.yaml uses generators, which": fields("generators: [x]\n"),
		"config/default can't be rendered: kustomize crashes on it": fields("resources: [../crd]\nreplacements: [{source: {kind: CustomResourceDefinition, fieldPath: kind}, targets: " +
			"[{reject: [null], select: {kind: CustomResourceDefinition}, fieldPaths: [metadata.labels.x]}]}]\n"),
		"config can't be rendered: kustomize crashes on it (runtime: goroutine stack exceeds": more("- &a [*a]\n"),
		"config can't be rendered: what comes out is larger than 16 MiB": {
			"policy/kustomization.yaml": "resources: [large.yaml]\n", "policy/large.yaml": large, "local/kustomization.yaml": "resources: [../policy]\n",
			"namespaced/kustomization.yaml": "resources: [../policy]\n", "network-policy/kustomization.yaml": "resources: [../policy]\n",
			"samples/kustomization.yaml": "resources: [../policy]\n", "crd/kustomization.yaml": "resources: [../policy]\n",
		},
	} {
		_, err = manifests.RenderIn(t.Context(), walls(t), write(t, files), isolation.Limits{})
		if refusal := manifests.RefusedError(""); !errors.As(err, &refusal) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %.300v, expected a refusal that starts with %s", err, want)
		}
	}
}
