package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/confinement"
	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/mutant"
	"github.com/example/operator-testbed/e2e/tier"
)

// root is the repository.
const root = "../.."

// The claims about the operator of any custom resource.
const (
	generation = "conditions say which generation they are about"
	changed    = "owned objects are put back when they are changed"
	deleted    = "owned objects are put back when they are deleted"
	quiet      = "no write follows from a change that does not matter"
	distinct   = "no write repeats the one before"
	conflict   = "no write is in conflict"
	restart    = "a restart writes nothing"
	owners     = "owner references pass OwnerReferencesPermissionEnforcement"
	wide       = "permissions are named one by one"
	background = "a deletion in the background leaves nothing"
	foreground = "a deletion in the foreground leaves nothing"
)

// TestSamples runs the points that need no mapping with our operator, with that of chapter 02, whose resource gets no namespace here, and
// with operators that have several faults each: every point holds, except for those that are about the faults. They share a cluster, one
// after another.
func TestSamples(t *testing.T) {
	tier.All(t)
	tier.NeedsEmbedded(t)
	airline := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"name":"B-1"}`) }))
	defer airline.Close()
	name := createCluster(t)
	ours := prepared(t, os.Getenv("OPERATOR"), os.Getenv("MANIFESTS"))
	memcached := filepath.Join(root, "operator", "config", "samples", "cache_v1alpha1_memcached.yaml")
	tickets := filepath.Join(root, "tutorial", "02-informer-queue", "config")
	hostile := hostileProgram(t, airline.Listener.Addr().String())
	ownsNothing := MatchRegexp("^does not apply: the sample owns no such object$")
	for _, tc := range []struct {
		name     string
		operator conformance.Prepared
		sample   string
		env      []string
		outcomes map[string]types.GomegaMatcher // those that are not "holds"
	}{
		{"ours", ours, memcached, nil, map[string]types.GomegaMatcher{
			wide: MatchRegexp(`^holds: no request used .*delete deployments\.apps`),
		}},
		{"a resource without a namespace", withoutNamespace(t, build(t, "./tutorial/02-informer-queue/cmd"), tickets), filepath.Join(tickets, "samples", "flightticket.yaml"),
			[]string{"AIRLINE=" + airline.URL, "TESTBED_CONFINE=no"}, map[string]types.GomegaMatcher{
				generation: Equal("does not apply: its status has no conditions"),
				changed:    ownsNothing,
				deleted:    ownsNothing,
			}},
		{"many faults", broken(t, "drift-left-alone", "status-rewritten-after-restart", "testdata/faults"), memcached, []string{"TESTBED_EXPECTED=to be put back"}, map[string]types.GomegaMatcher{
			generation: MatchRegexp(`^does not hold: expected conditions of generation 1; last seen: Available=True/AllReplicasReady \(generation 0\)`),
			changed:    MatchRegexp(`^does not hold: Deployment .*/changed-.*: expected .* at /metadata/labels/.* to be put back; last seen: other`),
			deleted:    MatchRegexp(`^does not hold: Deployment .*/deleted-.*: expected it to exist; last seen: it does not`),
			quiet:      MatchRegexp(`^does not hold: .* expected at most 0 writes; last seen: [1-9]`),
			distinct:   MatchRegexp(`^does not hold: .* expected each write to memcacheds/status .* to differ from the one before; last seen twice:`),
			conflict:   MatchRegexp(`(?s)^does not hold: .* expected at most 0 writes; last seen: [1-9].*: 409 `),
			restart:    MatchRegexp(`^does not hold: .* expected at most 0 writes; last seen: [1-9]`),
			owners:     MatchRegexp(`(?s)^does not hold: expected the permission to update the finalizers .* last seen: .*cannot set blockOwnerDeletion`),
			wide:       Equal(`does not hold: expected roles that name each group, resource and verb; last seen: * deployments.apps`),
		}},
		{"what is left", broken(t, "no-owner-reference"), memcached, []string{"TESTBED_EXPECTED=what belongs to"}, map[string]types.GomegaMatcher{
			background: MatchRegexp(`^does not hold: what belongs to background-.*: expected it to be gone; last seen: .*Deployment background-`),
			foreground: MatchRegexp(`^does not hold: what belongs to foreground-.*: expected it to be gone; last seen: .*Deployment foreground-`),
			changed:    ownsNothing,
			deleted:    ownsNothing,
			wide:       HavePrefix("holds: no request used "),
		}},
		{"what is refused", broken(t, "missing-rbac-verb"), memcached, []string{"TESTBED_EXPECTED=expected it to be served"}, map[string]types.GomegaMatcher{
			conformance.Gate: MatchRegexp(`(?s)^does not hold: first-.*: expected it to be served; last seen: it is not.*cannot create resource \\?"deployments\\?"`),
		}},
		{"what is invalid", ours, write(t, "invalid.yaml", "apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nspec: {size: 77}\n", 0o600), nil, map[string]types.GomegaMatcher{
			conformance.Gate: MatchRegexp(`^does not hold: expected the API server to create first-.*; last seen: .*spec.size`),
		}},
		{"what is not served", ours, write(t, "unknown.yaml", "apiVersion: example.com/v1\nkind: Unknown\n", 0o600), nil, map[string]types.GomegaMatcher{
			conformance.Gate: MatchRegexp(`^does not hold: expected the API server to serve the sample's kind; last seen: .*no matches for kind "Unknown"`),
		}},
		{"companions", ours, memcached, companions(t, beside), map[string]types.GomegaMatcher{
			wide: HavePrefix("holds: no request used "),
		}},
		{"a companion that is not served", ours, memcached, companions(t, "apiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: settings}\n"), map[string]types.GomegaMatcher{
			conformance.Gate: MatchRegexp(`^does not hold: expected the API server to serve the kind of the companion Unknown settings; last seen: .*no matches for kind "Unknown"`),
		}},
		{"a hostile program", hostile, memcached, token, map[string]types.GomegaMatcher{
			framework.StartOfOperator: ContainSubstring("hostile: reached []"),
		}},
		{"a hostile program that is trusted", hostile, memcached, append(token, "TESTBED_CONFINE=no"), map[string]types.GomegaMatcher{
			framework.StartOfOperator: ContainSubstring("hostile: reached [a file, a variable, a server, another program]"),
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			if _, err := confinement.Supported(); err != nil && tc.name == "a hostile program" {
				t.Skip(err)
			}
			results, output := runPoints(t, "^TestPoints$", slices.Concat(tc.env, []string{
				"TESTBED_CLUSTER=" + name, "OPERATOR=" + tc.operator.Binary, "MANIFESTS=" + tc.operator.Manifests, "SAMPLE=" + tc.sample,
			})...)
			outcomes := map[string]string{}
			for _, result := range results {
				outcomes[result.Feature] = strings.TrimSuffix(string(result.Outcome)+": "+result.Message+result.Reason, ": ")
			}
			if tc.outcomes[conformance.Gate] == nil && tc.outcomes[framework.StartOfOperator] == nil {
				g.Expect(outcomes).To(HaveLen(12), output)
			} else {
				g.Expect(outcomes).To(HaveLen(1), output)
			}
			for claim, outcome := range outcomes {
				expected := tc.outcomes[claim]
				if expected == nil {
					expected = Equal("holds")
				}
				g.Expect(outcome).To(expected, "%s\n%s", claim, output)
			}
		})
	}
}

// beside are objects that a sample may refer to. One of them owns another object.
const beside = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: database}
spec:
  replicas: 0
  selector: {matchLabels: {app: database}}
  template:
    metadata: {labels: {app: database}}
    spec: {containers: [{name: database, image: example.com/database:1}]}
`

// companions gives a sample companions.
func companions(t *testing.T, content string) []string {
	t.Helper()
	return []string{"COMPANIONS=" + write(t, "companions.yaml", content, 0o600)}
}

// token is a variable of the one who checks an operator.
var token = []string{"TOKEN_OF_THE_USER=secret"}

// hostileProgram makes a program ready, in place of our operator, that goes for a file and for the listener.
func hostileProgram(t *testing.T, listener string) conformance.Prepared {
	t.Helper()
	file := write(t, "secret", "secret\n", 0o600)
	return prepared(t, build(t, "./e2e/conformance/testdata/hostile", "-ldflags=-X main.file="+file+" -X main.listener="+listener), os.Getenv("MANIFESTS"))
}

// createCluster creates a cluster for the runs to share, which goes with the test, and returns its name.
func createCluster(t *testing.T) string {
	t.Helper()
	name := "samples-" + filepath.Base(t.TempDir())
	provider, err := cluster.New("embedded", cluster.Options{CRDs: []string{filepath.Join(root, "operator", "config", "crd", "bases")}})
	if err == nil {
		provider.WithName(name)
		_, err = provider.Create(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := provider.Destroy(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return name
}

// TestPage checks that the page shows the points for any custom resource, all of which hold for our operator by TestSamples.
func TestPage(t *testing.T) {
	sample, err := conformance.ReadSample(filepath.Join(root, "operator", "config", "samples", "cache_v1alpha1_memcached.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "reference", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	var results []framework.Result
	points := conformance.Checks{Operator: sample}.Points()
	for _, p := range points {
		results = append(results, framework.Result{Feature: p.Claim, Outcome: framework.Holds})
	}
	NewWithT(t).Expect(string(page)).To(ContainSubstring(conformance.NewReport(points, results).Markdown()))
}

// runPoints runs the subtests of TestPoints that match a pattern, as another program, and returns its report and its output.
func runPoints(t *testing.T, pattern string, env ...string) (results []framework.Result, output string) {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report.json")
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+pattern, "-test.parallel=6")
	command.Env = slices.Concat(os.Environ(), env, []string{"TESTBED_REPORT=" + report, "TESTBED_TIMEOUT=5s", "TESTBED_ARTIFACTS=" + t.TempDir(), "TESTBED_FAILURES=" + os.DevNull})
	out, err := command.CombinedOutput()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	file, err := os.Open(report)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	defer file.Close()
	for decoder := json.NewDecoder(file); ; {
		var result framework.Result
		if err := decoder.Decode(&result); errors.Is(err, io.EOF) {
			return results, string(out)
		} else if err != nil {
			t.Fatal(err)
		}
		results = append(results, result)
	}
}

// build builds a main package of the repository.
func build(t *testing.T, pkg string, flags ...string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "manager")
	if err := runner.Build(t.Context(), root, pkg, binary, flags...); err != nil {
		t.Fatal(err)
	}
	return binary
}

// prepared makes an operator ready as the command does.
func prepared(t *testing.T, binary, manifests string) conformance.Prepared {
	t.Helper()
	p, err := conformance.Foreign{Operator: binary, Manifests: manifests}.Prepare(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// withoutNamespace makes an operator ready whose custom resource gets no namespace.
func withoutNamespace(t *testing.T, binary, config string) conformance.Prepared {
	t.Helper()
	p := prepared(t, binary, filepath.Join(config, "default"))
	content, err := os.ReadFile(p.Manifests)
	if err == nil {
		err = os.WriteFile(p.Manifests, []byte(strings.Replace(string(content), "scope: Namespaced", "scope: Cluster", 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// broken makes our operator ready with the faults of all the patches: the names of mutants of its suite, or paths without the ending.
func broken(t *testing.T, patches ...string) conformance.Prepared {
	t.Helper()
	mutants, err := mutant.Read(filepath.Join(root, "e2e", "memcached", "mutants"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := mutant.Read("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for i := range more {
		more[i].Name = "testdata/" + more[i].Name
	}
	mutants = append(mutants, more...)
	var result mutant.Broken
	changed := map[string][]byte{}
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range patches {
		m := mutants[slices.IndexFunc(mutants, func(m mutant.Mutant) bool { return m.Name == name })]
		m.Files = append(m.Files, slices.Collect(maps.Keys(changed))...)
		slices.Sort(m.Files)
		m.Files, m.Content = slices.Compact(m.Files), changed
		if result, err = m.Apply(t.Context(), repository, "operator/config", t.TempDir()); err != nil {
			t.Fatal(err)
		}
		for _, file := range m.Files {
			if changed[file], err = os.ReadFile(filepath.Join(result.Tree, file)); err != nil {
				t.Fatal(err)
			}
		}
	}
	operator, manifests := os.Getenv("OPERATOR"), os.Getenv("MANIFESTS")
	if slices.ContainsFunc(slices.Collect(maps.Keys(changed)), func(file string) bool { return filepath.Ext(file) == ".go" }) {
		operator = build(t, "./operator/cmd", "-overlay="+result.Overlay)
	}
	if result.Manifests != "" {
		manifests = filepath.Join(result.Manifests, "default")
	}
	return prepared(t, operator, manifests)
}
