package conformance_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/conformance"
)

func TestReadMappings(t *testing.T) {
	paths, err := filepath.Glob("mappings/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("the mappings: %v, %v", paths, err)
	}
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			mapping, err := conformance.ReadMapping(path)
			g := NewWithT(t)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(mapping.GVK().String()).To(Equal("cache.example.com/v1alpha1, Kind=Memcached"))
		})
	}
}

func TestReadMappingRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ content, words string }{
		"an unknown field": {"grop: cache.example.com", `line 1: unknown key "grop": use args, cluster, conditions, crds, deadlineArgs, deployment,`},
		"what lacks fields": {"group: cache.example.com\nversion: v1\nkind: Memcached\nresource: memcacheds",
			"it lacks fields.size, conditions.available, deployment"},
		"a Deployment for all": {"group: g\nversion: v1\nkind: K\nresource: ks\ndeployment: all\nfields: {size: spec.size}\nconditions: {available: A}",
			"deployment has no {name} in it"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "mapping.yaml")
			if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := conformance.ReadMapping(path)
			NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring(path), ContainSubstring(tc.words))))
		})
	}
}

func TestLargest(t *testing.T) {
	claims := func(largest int32) (claims []string) {
		for _, p := range (conformance.Checks{Operator: conformance.Mapping{API: conformance.API{Largest: largest}}}).Points() {
			claims = append(claims, p.Claim)
		}
		return claims
	}
	g := NewWithT(t)
	g.Expect(claims(0)).To(ContainElement("at most 4 writes take a new one from size 3 to 5"))
	g.Expect(claims(3)).To(ContainElements("at most 4 writes take a new one from size 1 to 3", "at most 3 writes make one of size 3 Available"))
	g.Expect(claims(2)).To(ContainElements("at most 4 writes take a new one from size 1 to 2", "at most 3 writes make one of size 2 Available"))
}
