package tree_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/tier/tree"
)

// repository writes files into a new directory, and returns it.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const head = "package a\n\nimport (\n\t\"testing\"\n\n\t\"github.com/example/operator-testbed/e2e/framework\"\n\t\"github.com/example/operator-testbed/e2e/tier\"\n)\n\n"

func TestRead(t *testing.T) {
	g := NewWithT(t)
	tests, err := tree.Read(repository(t, map[string]string{
		"go.mod": "module root\n",
		"docs/a_test.go": head + `
func TestQuick(t *testing.T) {}
func TestSlow(t *testing.T) { tier.All(t); t.Parallel() }
func TestKind(t *testing.T) { tier.E2E(t) }
func TestLong(t *testing.T) { tier.Nightly(t) }
func TestPart(t *testing.T) { tier.Skipf(t, tier.InE2E, "not here") }
func TestMain(m *testing.M) {}
func Testament(t *testing.T) {}
func TestHelper(t *testing.T, more int) {}
func BenchmarkX(b *testing.B) {}
`,
		"docs/linux_test.go":             "//go:build plan9\n\npackage a\n\nimport \"testing\"\n\nfunc TestElsewhere(t *testing.T) {}\n",
		"docs/testdata/b_test.go":        head + "func TestData(t *testing.T) {}\n",
		"docs/.hidden/b_test.go":         head + "func TestHidden(t *testing.T) {}\n",
		"e2e/memcached/main_test.go":     head + "var s = framework.New(framework.Options{})\n",
		"e2e/memcached/a_test.go":        head + "func TestFeature(t *testing.T) {}\nfunc TestSoak(t *testing.T) { tier.Nightly(t) }\n",
		"kind/build/go.mod":              "module build\n",
		"kind/build/store/store_test.go": "package a\n\nimport \"testing\"\n\nfunc TestStore(t *testing.T) {}\n",
		"docs/example/go.mod":            "module example\n",
		"docs/example/test/a_test.go":    "package a\n\nimport \"testing\"\n\nfunc TestExample(t *testing.T) {}\n",
	}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tests).To(Equal([]tree.Test{
		{Module: ".", Dir: "docs", Name: "TestElsewhere", Tier: "test"},
		{Module: ".", Dir: "docs", Name: "TestKind", Tier: "e2e"},
		{Module: ".", Dir: "docs", Name: "TestLong", Tier: "nightly"},
		{Module: ".", Dir: "docs", Name: "TestPart", Tier: "test"},
		{Module: ".", Dir: "docs", Name: "TestQuick", Tier: "test"},
		{Module: ".", Dir: "docs", Name: "TestSlow", Tier: "all"},
		{Module: "docs/example", Dir: "docs/example/test", Name: "TestExample", Tier: "all"},
		{Module: ".", Dir: "e2e/memcached", Name: "TestFeature", Tier: "test", Suite: true},
		{Module: ".", Dir: "e2e/memcached", Name: "TestSoak", Tier: "nightly", Suite: true},
		{Module: "kind/build", Dir: "kind/build/store", Name: "TestStore", Tier: "all"},
	}))

	g.Expect(tree.Plan(tests, "test")).To(Equal([]tree.Selection{{Module: ".", Packages: []string{"./docs", "./e2e/memcached"}}}))
	g.Expect(tree.Plan(tests, "all")).To(Equal([]tree.Selection{
		{Module: ".", Packages: []string{"./docs"}, Run: "^(TestSlow)$"},
		{Module: "kind/build", Packages: []string{"./store"}}, // a page runs the example
	}))
	g.Expect(tree.Plan(tests, "nightly")).To(Equal([]tree.Selection{{Module: ".", Packages: []string{"./docs", "./e2e/memcached"}, Run: "^(TestLong|TestSoak)$"}}))
}

// TestReadRefuses is about marks that nobody would find without running the test.
func TestReadRefuses(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"in a helper":      {"func needs(t *testing.T) { tier.All(t) }\n", "docs/a_test.go:10: a mark belongs at the start of a test function"},
		"in a subtest":     {"func TestA(t *testing.T) { t.Run(\"b\", func(t *testing.T) { tier.All(t) }) }\n", "docs/a_test.go:10: a mark belongs at the start"},
		"after something":  {"func TestA(t *testing.T) {\n\tt.Parallel()\n\ttier.E2E(t)\n}\n", "docs/a_test.go:12: a mark belongs at the start"},
		"twice":            {"func TestA(t *testing.T) {\n\ttier.E2E(t)\n\ttier.All(t)\n}\n", "docs/a_test.go:12: a mark belongs at the start"},
		"does not compile": {"func TestA(\n", "expected"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tree.Read(repository(t, map[string]string{"docs/a_test.go": head + test.text}))
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(test.want)))
		})
	}
	_, err := tree.Read(repository(t, map[string]string{"kind/build/go.mod": "module build\n", "kind/build/a_test.go": head + "func TestA(t *testing.T) { tier.E2E(t) }\n"}))
	NewWithT(t).Expect(err).To(MatchError("kind/build TestA is marked, and all tests in kind/build belong to the tier all"))
}
