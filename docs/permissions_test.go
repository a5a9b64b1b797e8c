package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/mutant"
)

// TestRightsPage compares the table of permissions with what the operator's roles grant and which features need it.
func TestRightsPage(t *testing.T) {
	permissions, err := mutant.Permissions("..", "e2e/memcached")
	if err != nil {
		t.Fatal(err)
	}
	generated(t, "reference/permissions.md", "the operator's roles and e2e/memcached/permissions.yaml", permissionsTable(permissions))
}

// boundRole is the part of a binding that names its role.
var boundRole = regexp.MustCompile(`kind: (?:Cluster)?Role\n  name: (\S+)`)

// TestEveryBoundRoleIsProven compares the roles that the operator is bound to with those that permissions.yaml lists.
func TestEveryBoundRoleIsProven(t *testing.T) {
	var bound []string
	err := filepath.WalkDir("../operator/config", func(path string, entry os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "role_binding.yaml") {
			return err
		}
		text, err := os.ReadFile(path)
		if role := boundRole.FindSubmatch(text); role != nil {
			bound = append(bound, string(role[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	permissions, err := mutant.Permissions("..", "e2e/memcached")
	if err != nil {
		t.Fatal(err)
	}
	var proven []string
	for _, permission := range permissions {
		proven = append(proven, permission.Role)
	}
	slices.Sort(proven)
	slices.Sort(bound)
	if proven = slices.Compact(proven); len(bound) == 0 || !slices.Equal(bound, proven) {
		t.Errorf("the operator is bound to the roles %q, and e2e/memcached/permissions.yaml has %q: list the file of each role there", bound, proven)
	}
}

func permissionsTable(permissions []mutant.Permission) string {
	var b strings.Builder
	b.WriteString("\n| role | resource | verb | what fails without it |\n|---|---|---|---|\n")
	for _, p := range permissions {
		feature := "readiness probe"
		if test := p.Lacking.Test; test != "" {
			feature = "`" + test + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", p.Role, p.Resource, p.Verb, feature)
	}
	fmt.Fprintf(&b, "\n%d permissions.\n\n", len(permissions))
	return b.String()
}

func TestRightsTable(t *testing.T) {
	table := permissionsTable([]mutant.Permission{
		{Role: "r", Resource: "pods", Verb: "list"},
		{Role: "r", Resource: "pods", Verb: "get", Lacking: mutant.Mutant{Test: "TestPods"}},
	})
	for _, line := range []string{"| r | pods | list | readiness probe |\n", "| r | pods | get | `TestPods` |\n", "\n2 permissions.\n"} {
		if !strings.Contains(table, line) {
			t.Errorf("%q is not in %s", line, table)
		}
	}
}
