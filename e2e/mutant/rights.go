package mutant

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// role is what a Role and a ClusterRole have in common.
type role struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Rules             []rbacv1.PolicyRule `json:"rules"`
}

// withoutWatchList makes a client list before it watches, which it does anyway where an API server can't stream lists.
var withoutWatchList = []string{"KUBE_FEATURE_WatchListClient=false"}

// Rights returns a mutant for each right that the roles in files (relative to root) grant: the role without that verb. needs
// maps a right, such as "deployments create", to the test that needs it; without the others the operator does not get ready,
// because it watches before it does anything else.
func Rights(root string, files []string, needs map[string]string) ([]Mutant, error) {
	var mutants []Mutant
	left := map[string]bool{}
	for right := range needs {
		left[right] = true
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		var granted role
		if err := yaml.UnmarshalStrict(text, &granted); err != nil {
			return nil, fmt.Errorf("reading the role in %s: %w", file, err)
		}
		for i, rule := range granted.Rules {
			for _, verb := range rule.Verbs {
				m, right, err := without(granted, i, verb, file)
				if err != nil {
					return nil, err
				}
				m.Test, m.Assertion = needs[right], "is not ready"
				if m.Test != "" {
					m.Assertion = "--- FAIL: " + m.Test
				}
				delete(left, right)
				mutants = append(mutants, m)
			}
		}
	}
	for right := range left {
		return nil, fmt.Errorf("no role grants %s, which %s is said to need", right, needs[right])
	}
	return mutants, nil
}

// without is the mutant that lacks one verb of one rule, and the name of that right.
func without(granted role, index int, verb, file string) (m Mutant, right string, err error) {
	rule := granted.Rules[index]
	right = strings.Join(rule.Resources, ",") + " " + verb
	lacking := granted
	lacking.Rules = slices.Clone(granted.Rules)
	lacking.Rules[index].Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(other string) bool { return other == verb })
	if len(lacking.Rules[index].Verbs) == 0 { // which the API server does not accept
		lacking.Rules = slices.Delete(lacking.Rules, index, index+1)
	}
	content, err := yaml.Marshal(lacking)
	if err != nil {
		return Mutant{}, "", err
	}
	return Mutant{
		Name:  strings.NewReplacer(" ", "-", "/", "-", ",", "-").Replace(granted.Name + " " + right),
		Fault: fmt.Sprintf("the operator lacks %s of %s", right, granted.Name),
		Files: []string{file}, Content: map[string][]byte{file: content}, Env: withoutWatchList,
	}, right, nil
}
