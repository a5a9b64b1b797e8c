package manifests_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/example/operator-testbed/tutorial/internal/grade/manifests"
)

// Whatever a student adds to the kustomization of 12-certificates and to the manifests that it names, it is refused, or grants nothing that the
// chapter's own manifests do not grant.
func FuzzJudge(f *testing.F) {
	own, err := manifests.Render(filepath.Join(tutorial, "12-certificates", "config"))
	if err != nil {
		f.Fatal(err)
	}
	allowed, err := manifests.AllowedBy("the operator of 12-certificates", own)
	if err != nil {
		f.Fatal(err)
	}
	kinds := map[string]bool{"ConfigMap": true} // which everybody may have
	for _, objects := range own.Loaded {
		for _, object := range objects {
			kinds[object.GetKind()] = true
		}
	}
	kustomization, err := os.ReadFile(filepath.Join(tutorial, "12-certificates", "config", "default", "kustomization.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	for _, more := range []string{
		"", "---\n", "kind: List\nitems: []\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\n",
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: more}\nrules: [{apiGroups: [\"\"], resources: [secrets], verbs: [get]}]\n",
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: more}\n" +
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: \"system:authenticated\"}]\n",
	} {
		f.Add(string(kustomization)+"- more.yaml\n", more)
	}
	f.Add("resources: [https://example.com/x]\n", "")
	f.Add("generators: [more.yaml]\n", "")
	f.Add(string(kustomization)+"- more.yaml\npatches: [{path: more.yaml, target: {kind: ClusterRole}}]\n", "- {op: add, path: /rules/-, value: {apiGroups: ['*'], resources: ['*'], verbs: ['*']}}\n")
	f.Fuzz(func(t *testing.T, kustomization, more string) {
		if strings.Contains(kustomization+more, "&") {
			t.Skip("an anchor may contain itself, on which kustomize overflows its stack: TestRenderIn shows that a process of its own bears that")
		}
		rendered, err := manifests.Render(write(t, map[string]string{"default/kustomization.yaml": kustomization, "default/more.yaml": more}))
		if err == nil {
			err = manifests.Judge(rendered, allowed)
		}
		if err != nil {
			if _, ok := errors.AsType[manifests.RefusedError](err); !ok {
				t.Errorf("a failure of the grader: %v", err)
			}
			return
		}
		for path, objects := range rendered.Loaded {
			for _, object := range objects {
				if !kinds[object.GetKind()] {
					t.Errorf("%s: a %s was accepted", path, object.GetKind())
				}
				switch object.GetKind() {
				case "Role", "ClusterRole":
					var role rbacv1.ClusterRole
					if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
						t.Errorf("%s: a role that can't be read was accepted: %v", path, err)
					}
					for _, rule := range role.Rules {
						if slices.Contains(slices.Concat(rule.Verbs, rule.Resources, rule.APIGroups), "*") {
							t.Errorf("%s: %s was accepted with the rule %v", path, role.Name, rule)
						}
					}
				case "RoleBinding", "ClusterRoleBinding":
					var binding rbacv1.ClusterRoleBinding
					if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &binding); err != nil || binding.RoleRef.Name == "cluster-admin" {
						t.Errorf("%s: %s was accepted, which binds %s: %v", path, binding.Name, binding.RoleRef.Name, err)
					}
				}
			}
		}
	})
}
