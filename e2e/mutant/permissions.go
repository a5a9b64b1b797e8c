package mutant

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// permissionsFile names, in a suite's directory, the operator's permissions and the tests that need them.
const permissionsFile = "permissions.yaml"

// needs is the content of such a file.
type needs struct {
	// Roles are the files, relative to the repository, that grant the operator its permissions.
	Roles []string `json:"roles"`
	// Needs maps a permission, such as "deployments.apps create", to the test of the suite that fails without it. Without the others,
	// the operator does not get ready.
	Needs map[string]string `json:"needs"`
}

// Permission is one verb of one rule.
type Permission struct {
	// Role is the name of the Role or ClusterRole that grants it.
	Role string
	// Resource is what it is about, as kubectl calls it: with its API group, and with its subresource.
	Resource string
	Verb     string
	// Lacking is the operator without it.
	Lacking Mutant
}

// withoutWatchList makes a client list before it watches, as it does with an API server that can't stream lists.
var withoutWatchList = []string{"KUBE_FEATURE_WatchListClient=false"}

// Permissions returns each permission of the operator that the suite in directory tests, in the order in which its roles grant them.
func Permissions(root, directory string) ([]Permission, error) {
	var file needs
	if err := readYAML(filepath.Join(root, directory, permissionsFile), &file); err != nil {
		return nil, err
	}
	var permissions []Permission
	unknown := maps.Clone(file.Needs)
	for _, granting := range file.Roles {
		var role rbacv1.ClusterRole // a Role has the same fields
		if err := readYAML(filepath.Join(root, granting), &role); err != nil {
			return nil, err
		}
		for i, rule := range role.Rules {
			for _, verb := range rule.Verbs {
				name := resourceOf(rule) + " " + verb
				permission, err := newRight(role, i, verb, granting, file.Needs[name])
				if err != nil {
					return nil, err
				}
				delete(unknown, name)
				permissions = append(permissions, permission)
			}
		}
	}
	for name, test := range unknown {
		return nil, fmt.Errorf("no role grants %s, which %s is said to need", name, test)
	}
	return permissions, nil
}

func readYAML(path string, into any) error {
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.UnmarshalStrict(text, into)
	}
	if err != nil {
		return fmt.Errorf("read the operator's permissions from %s: %w", path, err)
	}
	return nil
}

// WithoutEachRight returns the operator that the suite in directory tests without each of its permissions, one at a time.
func WithoutEachRight(root, directory string) ([]Mutant, error) {
	permissions, err := Permissions(root, directory)
	mutants := make([]Mutant, len(permissions))
	for i, permission := range permissions {
		mutants[i] = permission.Lacking
	}
	return mutants, err
}

// newRight returns one verb of a role's rule, and the operator without it, which the test must notice.
func newRight(role rbacv1.ClusterRole, index int, verb, file, test string) (Permission, error) {
	rule := role.Rules[index]
	lacking := role
	lacking.Rules = slices.Clone(role.Rules)
	lacking.Rules[index].Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(other string) bool { return other == verb })
	if len(lacking.Rules[index].Verbs) == 0 { // which the API server does not accept
		lacking.Rules = slices.Delete(lacking.Rules, index, index+1)
	}
	content, err := yaml.Marshal(lacking)
	resource := resourceOf(rule)
	assertion := "cannot " + verb + " resource" // the API server's message, if the operator does not get ready
	if test != "" {
		assertion = "--- FAIL: " + test
	}
	return Permission{Role: role.Name, Resource: resource, Verb: verb, Lacking: Mutant{
		Name:  strings.NewReplacer(" ", "-", "/", "-", ",", "-").Replace(role.Name + " " + resource + " " + verb),
		Fault: fmt.Sprintf("the operator lacks %s %s of %s", resource, verb, role.Name),
		Files: []string{file}, Content: map[string][]byte{file: content}, Env: withoutWatchList,
		Test: test, Assertion: assertion,
	}}, err
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
