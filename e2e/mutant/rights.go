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

// rightsFile says, in a suite's folder, which rights the operator has and who needs them.
const rightsFile = "rights.yaml"

// needs is the content of a rights file.
type needs struct {
	// Roles are the files, relative to the repository, that grant the operator its rights.
	Roles []string `json:"roles"`
	// Needs maps a right, such as "deployments.apps create", to the test of the suite that fails without. Without the others the
	// operator does not get ready.
	Needs map[string]string `json:"needs"`
}

// Right is one verb of one rule.
type Right struct {
	// Role is the name of the Role or ClusterRole that grants it.
	Role string
	// Resource is what it is about, as kubectl calls it: with its API group, and with its subresource.
	Resource string
	Verb     string
	// Lacking is the operator without it.
	Lacking Mutant
}

// role is what a Role and a ClusterRole have in common.
type role struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Rules             []rbacv1.PolicyRule `json:"rules"`
}

// withoutWatchList makes a client list before it watches, which it does anyway where an API server can't stream lists.
var withoutWatchList = []string{"KUBE_FEATURE_WatchListClient=false"}

// Rights returns each right of the operator that the suite in folder tests, in the order in which its roles grant them.
func Rights(root, folder string) ([]Right, error) {
	path := filepath.Join(root, folder, rightsFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading who needs the operator's rights: %w", err)
	}
	var file needs
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	var rights []Right
	for _, granting := range file.Roles {
		text, err := os.ReadFile(filepath.Join(root, granting))
		if err != nil {
			return nil, err
		}
		var granted role
		if err := yaml.UnmarshalStrict(text, &granted); err != nil {
			return nil, fmt.Errorf("reading the role in %s: %w", granting, err)
		}
		for i, rule := range granted.Rules {
			for _, verb := range rule.Verbs {
				right, err := granted.right(i, verb, granting)
				if err != nil {
					return nil, err
				}
				rights = append(rights, right)
			}
		}
	}
	return rights, judgedBy(rights, file.Needs)
}

// WithoutEachRight returns the operator that the suite in folder tests without each of its rights.
func WithoutEachRight(root, folder string) ([]Mutant, error) {
	rights, err := Rights(root, folder)
	mutants := make([]Mutant, len(rights))
	for i, right := range rights {
		mutants[i] = right.Lacking
	}
	return mutants, err
}

// judgedBy says of each right which test must miss it.
func judgedBy(rights []Right, needs map[string]string) error {
	known := map[string]bool{}
	for i := range rights {
		name := rights[i].Resource + " " + rights[i].Verb
		known[name] = true
		lacking := &rights[i].Lacking
		lacking.Test = needs[name]
		if lacking.Test != "" {
			lacking.Assertion = "--- FAIL: " + lacking.Test
		} else { // what an operator says that is not ready, in the API server's words
			lacking.Assertion = "cannot " + rights[i].Verb + " resource"
		}
	}
	for name, test := range needs {
		if !known[name] {
			return fmt.Errorf("no role grants %s, which %s is said to need", name, test)
		}
	}
	return nil
}

// right is one verb of a role's rule, and the operator without it.
func (r role) right(index int, verb, file string) (Right, error) {
	rule := r.Rules[index]
	lacking := r
	lacking.Rules = slices.Clone(r.Rules)
	lacking.Rules[index].Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(other string) bool { return other == verb })
	if len(lacking.Rules[index].Verbs) == 0 { // which the API server does not accept
		lacking.Rules = slices.Delete(lacking.Rules, index, index+1)
	}
	content, err := yaml.Marshal(lacking)
	if err != nil {
		return Right{}, err
	}
	resource := resourceOf(rule)
	return Right{Role: r.Name, Resource: resource, Verb: verb, Lacking: Mutant{
		Name:  strings.NewReplacer(" ", "-", "/", "-", ",", "-").Replace(r.Name + " " + resource + " " + verb),
		Fault: fmt.Sprintf("the operator lacks %s %s of %s", resource, verb, r.Name),
		Files: []string{file}, Content: map[string][]byte{file: content}, Env: withoutWatchList,
	}}, nil
}

// resourceOf names what a rule is about as kubectl does: deployments.apps, memcacheds.cache.example.com/status, pods.
func resourceOf(rule rbacv1.PolicyRule) string {
	var names []string
	for _, resource := range rule.Resources {
		for _, group := range rule.APIGroups {
			name, subresource, _ := strings.Cut(resource, "/")
			if group != "" {
				name += "." + group
			}
			if subresource != "" {
				name += "/" + subresource
			}
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}
