package conformance_test

import (
	"cmp"
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
	"regexp"
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

	sharedOwned     = "what others add to owned objects is left alone"
	sharedObject    = "what others add to the object itself is left alone"
	sharedCondition = "a condition that others add is left alone"
	restarted       = "a restart of owned workloads is not undone"
	autoscaled      = "an autoscaler of an owned workload leads to few writes"
	rewritten       = "a policy that rewrites an owned object leads to few writes"
	reported        = "what the API server refuses is reported within a minute"
	healed          = "a lasting refusal leads to few writes, and its end is noticed"
	undecodable     = "an object that can't be decoded does not stop the others"
	unattended      = "a deletion while the operator is down leaves nothing"
	orphaned        = "a deletion that orphans keeps owned objects, and a new owner adopts or reports them"
	restoredFirst   = "owned objects that a backup restores first belong to their owner again"
	restoredLast    = "owned objects that a backup restores last belong to their owner"
	crashed         = "a crash between two writes leads to the same owned objects"
	stale           = "watches that fall behind lead to the same owned objects"
	upgraded        = "an upgrade and the way back restart no pod, and lead to few writes"
	restricted      = "the manager's pods meet the Pod Security Standard restricted"
	readOnly        = "the manager's containers have read-only root file systems"
	requests        = "the manager's containers request CPU and memory"
	probes          = "the manager has a liveness and a readiness probe"
	elected         = "several replicas of the manager elect a leader"
)

// TestSamples runs the points that need no mapping with our operator, and with operators that have several faults each: every point holds,
// except for those that are about the faults. They share a cluster, one after another.
func TestSamples(t *testing.T) {
	tier.All(t)
	checkSamples(t, false)
}

// TestMoreSamples does the same with our operator when it is slow, with that of informer-queue, whose resource gets no namespace here, and
// with more faults.
func TestMoreSamples(t *testing.T) {
	tier.Nightly(t)
	checkSamples(t, true)
}

// checkSamples runs the rows of one tier.
func checkSamples(t *testing.T, nightly bool) {
	t.Helper()
	tier.NeedsEmbedded(t)
	airline := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"name":"B-1"}`) }))
	defer airline.Close()
	name := createCluster(t)
	ours := prepared(t, os.Getenv("OPERATOR"), os.Getenv("MANIFESTS"))
	memcached := filepath.Join(root, "operator", "config", "samples", "cache_v1alpha1_memcached.yaml")
	tickets := filepath.Join(root, "tutorial", "informer-queue", "config")
	healthy := func(*testing.T) conformance.Prepared { return ours }
	attacking := func(t *testing.T) conformance.Prepared { return hostileProgram(t, airline.Listener.Addr().String()) }
	all := claims(t)
	noVersionBefore := Equal("does not apply: no version before was given: name its executable or image with from or --from")
	noMisfit := Equal("does not apply: the API server accepts no value for its fields that is known to be undecodable")
	ownsNothing := MatchRegexp("^does not apply: the sample owns no such object$")
	ownsNoWorkload := MatchRegexp("^does not apply: the sample owns no Deployment")
	type row struct {
		name     string
		operator func(t *testing.T) conformance.Prepared // is only called if the row runs
		sample   string
		env      []string
		outcomes map[string]types.GomegaMatcher // those that are not "holds"
		only     []string                       // the claims to check; all if empty
	}
	rows := []row{
		{"ours", healthy, memcached, nil, map[string]types.GomegaMatcher{
			wide:        MatchRegexp(`^holds: no request used .*delete deployments\.apps`),
			autoscaled:  MatchRegexp(`^holds(: the operator puts back the replicas of its Deployment, so an autoscaler for it can't work)?$`), // if it does so at once
			undecodable: noMisfit,
			upgraded:    noVersionBefore,
		}, nil},
		{"many faults", brokenBy("drift-left-alone", "status-rewritten-after-restart", "testdata/faults"), memcached, []string{"TESTBED_EXPECTED=to be put back"}, map[string]types.GomegaMatcher{
			generation: MatchRegexp(`^does not hold: expected conditions of generation 1; last seen: Available=True/AllReplicasReady \(generation 0\)`),
			changed:    MatchRegexp(`^does not hold: Deployment .*/changed-.*: expected .* at /metadata/labels/.* to be put back; last seen: other`),
			deleted:    MatchRegexp(`^does not hold: Deployment .*/deleted-.*: expected it to exist; last seen: it does not`),
			quiet:      MatchRegexp(`^does not hold: .* expected at most 0 writes; last seen: [1-9]`),
			distinct:   MatchRegexp(`^does not hold: .* expected each write to memcacheds/status .* to differ from the one before; last seen twice:`),
			conflict:   MatchRegexp(`(?s)^does not hold: .* expected at most 0 writes; last seen: [1-9].*: 409 `),
			restart:    MatchRegexp(`^does not hold: .* expected at most 0 writes; last seen: [1-9]`),
			owners:     MatchRegexp(`(?s)^does not hold: expected the permission to update the finalizers .* last seen: .*cannot set blockOwnerDeletion`),
			wide:       Equal(`does not hold: expected roles that name each group, resource and verb; last seen: * deployments.apps`),
		}, []string{generation, changed, deleted, quiet, distinct, conflict, restart, owners, background, foreground, wide}},
		{"what is taken from others", brokenBy("foreign-fields-dropped", "foreign-annotations-dropped", "foreign-conditions-dropped", "testdata/taken-over"), memcached, nil, map[string]types.GomegaMatcher{
			sharedOwned:     MatchRegexp(`^does not hold: Deployment shared-.*: expected the annotation and the label and the finalizer example.com/foreign of another program to stay; last seen: it is gone`),
			sharedObject:    MatchRegexp(`^does not hold: Memcached held-.*: expected the label and the finalizer example.com/foreign of another program to stay; last seen: it is gone`),
			sharedCondition: MatchRegexp(`^does not hold: expected the condition example.com/Foreign of another program to stay; last seen: Available`),
			restarted:       MatchRegexp(`^does not hold: Deployment restarted-.*: expected the operator to leave a restart alone; last seen: `),
		}, []string{sharedOwned, sharedObject, sharedCondition, restarted}},
		// The other points have an operator that works.
		{"a cache that one object stops, and a finalizer", brokenBy("undecodable-allowed", "undecodable-stops-all", "unneeded-finalizer"), memcached, []string{"TESTBED_EXPECTED=to be served while"}, map[string]types.GomegaMatcher{
			undecodable: MatchRegexp(`^does not hold: other-.*: expected it to be served while there is undecodable-.*, which has 2024-01-01t00:00:00z at /status/conditions/0/lastTransitionTime; last seen: it is not`),
		}, []string{undecodable, background}},
		{"what is not adopted", brokenBy("restored-left-alone"), memcached, []string{"TESTBED_EXPECTED=to belong to the new"}, map[string]types.GomegaMatcher{
			restoredFirst: MatchRegexp(`^does not hold: a restore of restored-.*: expected Deployment restored-.* to belong to the new Memcached of the same name; last seen: it does not`),
		}, []string{restoredFirst}},
		{"writes that a crash cuts short", brokenBy("testdata/half-done"), memcached, []string{"TESTBED_EXPECTED=as without the crash"}, map[string]types.GomegaMatcher{
			crashed: MatchRegexp(`^does not hold: cut-.*: expected it to own 1 Deployment, as without the crash after write 1; last seen: nothing`),
		}, []string{crashed}},
		{"a manager that administrators refuse", brokenBy("testdata/manifests"), memcached, nil, map[string]types.GomegaMatcher{
			restricted: MatchRegexp(`^does not hold: expected the manager's pods to meet the Pod Security Standard restricted; last seen: .*runAsNonRoot`),
			readOnly:   MatchRegexp(`^does not hold: expected each container of the manager's pods to have readOnlyRootFilesystem; last seen: manager does not`),
			requests:   MatchRegexp(`^does not hold: expected each container of the manager's pods to have requests of CPU and memory; last seen: manager does not`),
			probes:     MatchRegexp(`^does not hold: expected the container manager to have a livenessProbe and a readinessProbe; last seen: no readinessProbe`),
			elected:    MatchRegexp(`^does not hold: expected 2 replicas of the manager to elect a leader; last seen: no argument`),
		}, []string{restricted, readOnly, requests, probes, elected}},
		{"what is refused", brokenBy("missing-rbac-verb"), memcached, []string{"TESTBED_EXPECTED=expected it to be served"}, map[string]types.GomegaMatcher{
			conformance.Gate: MatchRegexp(`(?s)^does not hold: first-.*: expected it to be served; last seen: it is not.*cannot create resource \\?"deployments\\?"`),
		}, nil},
		{"what is invalid", healthy, write(t, "invalid.yaml", "apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nspec: {size: 77}\n", 0o600), nil, map[string]types.GomegaMatcher{
			conformance.Gate: MatchRegexp(`^does not hold: expected the API server to create first-.*; last seen: .*spec.size`),
		}, nil},
		{"what is not served", healthy, write(t, "unknown.yaml", "apiVersion: example.com/v1\nkind: Unknown\n", 0o600), nil, map[string]types.GomegaMatcher{
			conformance.Gate: MatchRegexp(`^does not hold: expected the API server to serve the sample's kind; last seen: .*no matches for kind "Unknown"`),
		}, nil},
		{"a hostile program", attacking, memcached, token, map[string]types.GomegaMatcher{
			framework.StartOfOperator: ContainSubstring("hostile: reached []"),
		}, nil},
		{"a hostile program that is trusted", attacking, memcached, append(token, "TESTBED_CONFINE=no"), map[string]types.GomegaMatcher{
			framework.StartOfOperator: ContainSubstring("hostile: reached [a file, a variable, a server, another program]"),
		}, nil},
	}
	if nightly {
		rows = []row{
			// The status comes when all that belongs to an object has long been ready.
			{"a status that is late", brokenBy("testdata/slow"), memcached, nil, nil, []string{generation, quiet}},
			// The status comes before anything belongs to an object.
			{"a status that is early", brokenBy("testdata/early"), memcached, nil, nil, []string{generation, changed, deleted, sharedOwned}},
			{"a resource without a namespace", func(t *testing.T) conformance.Prepared {
				return withoutNamespace(t, build(t, "./tutorial/informer-queue/cmd"), tickets)
			}, filepath.Join(tickets, "samples", "flightticket.yaml"),
				[]string{"AIRLINE=" + airline.URL, "TESTBED_CONFINE=no"}, map[string]types.GomegaMatcher{
					generation:      Equal("does not apply: its status has no conditions"),
					changed:         ownsNothing,
					deleted:         ownsNothing,
					sharedOwned:     ownsNothing,
					sharedCondition: Equal("does not apply: its status has no conditions"),
					restarted:       ownsNoWorkload,
					autoscaled:      ownsNoWorkload,
					rewritten:       ownsNothing,
					reported:        ownsNothing,
					healed:          ownsNothing,
					undecodable:     noMisfit,
					orphaned:        ownsNothing,
					restoredFirst:   ownsNothing,
					restoredLast:    ownsNothing,
					upgraded:        noVersionBefore,
					elected:         Equal("does not apply: the manifests ask for one replica of the manager"),
				}, nil},
			{"what is left", brokenBy("no-owner-reference"), memcached, []string{"TESTBED_EXPECTED=what belongs to"}, map[string]types.GomegaMatcher{
				background: MatchRegexp(`^does not hold: what belongs to background-.*: expected it to be gone; last seen: .*Deployment background-`),
				foreground: MatchRegexp(`^does not hold: what belongs to foreground-.*: expected it to be gone; last seen: .*Deployment foreground-`),
				unattended: MatchRegexp(`^does not hold: what belongs to unattended-.*: expected it to be gone; last seen: .*Deployment unattended-`),
				changed:    ownsNothing,
				deleted:    ownsNothing,
				wide:       HavePrefix("holds: no request used "),
			}, []string{background, foreground, unattended, changed, deleted, wide}},
			{"what is taken from others after a start", brokenBy("testdata/taken-at-start"), memcached, nil, map[string]types.GomegaMatcher{
				sharedOwned: MatchRegexp(`^does not hold: Deployment shared-.*: expected the annotation example.com/foreign of another program to stay; last seen: it is gone`),
				restarted:   MatchRegexp(`^does not hold: Deployment restarted-.*: expected the operator to leave a restart alone; last seen: `),
			}, []string{sharedOwned, restarted}},
			{"a contest without an end", brokenBy("testdata/endless"), memcached, nil, map[string]types.GomegaMatcher{
				autoscaled: MatchRegexp(`^does not hold: Deployment autoscaled-.*: expected at most 20 writes after a change by another program; last seen: `),
				rewritten:  MatchRegexp(`^does not hold: Deployment rewritten-.*: expected at most 20 writes after a change by another program; last seen: `),
			}, []string{autoscaled, rewritten}},
			{"refusals that nothing reports, and attempts without a pause", brokenBy("testdata/silent", "failure-in-a-hot-loop"), memcached, []string{"TESTBED_EXPECTED=neither does"}, map[string]types.GomegaMatcher{
				reported: MatchRegexp(`^does not hold: lasting-.*: expected its status or a warning to report .*; last seen: neither does`),
				healed:   MatchRegexp(`^does not hold: .* expected at most 60 writes; last seen: \d+:`),
			}, []string{reported, healed}},
			{"refusals for good", brokenBy("forbidden-for-good"), memcached, []string{"TESTBED_EXPECTED=no longer refuses"}, map[string]types.GomegaMatcher{
				healed: MatchRegexp(`^does not hold: lasting-.*: expected the operator to create what the API server no longer refuses; last seen: no Deployment`),
			}, []string{healed}},
			{"a laxer CRD", brokenBy("undecodable-allowed"), memcached, nil, nil, []string{undecodable}},
			{"a laxer CRD, and a finalizer", brokenBy("undecodable-allowed", "unneeded-finalizer"), memcached, nil, nil, []string{undecodable}},
			{"what is deleted although it is to stay", brokenBy("orphan-deleted"), memcached, nil, map[string]types.GomegaMatcher{
				orphaned: MatchRegexp(`^does not hold: Deployment orphaned-.*: expected it to stay, because the deletion of its owner asked for that; last seen: it is deleted`),
			}, []string{orphaned}},
			{"what is neither adopted nor reported, and caches that are trusted", brokenBy("restored-left-alone", "testdata/silent", "testdata/named-by-uid", "testdata/trusting"), memcached, []string{"TESTBED_EXPECTED=to belong to the new\nas without watches"}, map[string]types.GomegaMatcher{
				orphaned:     MatchRegexp(`^does not hold: orphaned-.*: expected Deployment orphaned-.* to belong to the new Memcached of the same name; last seen: it does not, and its status reports nothing about that`),
				restoredLast: MatchRegexp(`^does not hold: a restore of restored-.*: expected Deployment restored-.* to belong to the new Memcached of the same name; last seen: it does not`),
				stale:        MatchRegexp(`^does not hold: behind-.*: expected it to own 1 Deployment, as without watches of .* that are behind from write \d+ on; last seen: 2 Deployment`),
			}, []string{orphaned, restoredLast, stale}},
			{"an upgrade", healthy, memcached, []string{"FROM=builds/annotated"}, nil, []string{upgraded}},
			{"an upgrade that restarts pods", healthy, memcached, []string{"FROM=builds/with-a-variable"}, map[string]types.GomegaMatcher{
				upgraded: MatchRegexp(`^does not hold: expected the upgrade to restart no pod; last seen: Pod upgraded-.* is gone`),
			}, []string{upgraded}},
			{"an upgrade that never ends", brokenBy("testdata/migrating"), memcached, []string{"FROM=" + ours.Binary}, map[string]types.GomegaMatcher{
				upgraded: MatchRegexp(`^does not hold: deployments .*/upgraded-.*: expected at most 20 writes after the upgrade; last seen: `),
			}, []string{upgraded}},
			{"a version before that does not start", healthy, memcached, []string{"FROM=/bin/false"}, map[string]types.GomegaMatcher{
				upgraded: MatchRegexp(`^not tried: the version before does not start: `),
			}, []string{upgraded}},
			{"companions", healthy, memcached, companions(t, beside), map[string]types.GomegaMatcher{
				wide: HavePrefix("holds: no request used "),
			}, []string{generation, changed, deleted, quiet, background, wide}},
			{"a companion that is not served", healthy, memcached, companions(t, "apiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: settings}\n"), map[string]types.GomegaMatcher{
				conformance.Gate: MatchRegexp(`^does not hold: expected the API server to serve the kind of the companion Unknown settings; last seen: .*no matches for kind "Unknown"`),
			}, nil},
		}
	}
	for _, tc := range rows {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			if _, err := confinement.Supported(); err != nil && tc.name == "a hostile program" {
				t.Skip(err)
			}
			operator := tc.operator(t)
			results, output := runPoints(t, pattern(tc.only), slices.Concat(withBuild(t, tc.env), []string{
				"TESTBED_CLUSTER=" + name, "OPERATOR=" + operator.Binary, "MANIFESTS=" + operator.Manifests, "SAMPLE=" + tc.sample,
			})...)
			outcomes := map[string]string{}
			for _, result := range results {
				outcomes[result.Feature] = strings.TrimSuffix(string(result.Outcome)+": "+result.Message+result.Reason, ": ")
			}
			if tc.outcomes[conformance.Gate] == nil && tc.outcomes[framework.StartOfOperator] == nil {
				g.Expect(outcomes).To(HaveLen(1+cmp.Or(len(tc.only), len(all))), output)
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

// pattern returns the argument of -test.run for the claims, and for the gate, which comes before them. Without claims, it is about all.
func pattern(claims []string) string {
	if len(claims) == 0 {
		return "^TestPoints$"
	}
	names := append([]string{conformance.Gate}, claims...)
	for i, name := range names {
		names[i] = regexp.QuoteMeta(strings.ReplaceAll(name, " ", "_"))
	}
	return "^TestPoints$/^(gate|points|last)$/^(" + strings.Join(names, "|") + ")$"
}

// claims returns the claims about the operator of any custom resource.
func claims(t *testing.T) (claims []string) {
	t.Helper()
	sample, err := conformance.ReadSample(filepath.Join(root, "operator", "config", "samples", "cache_v1alpha1_memcached.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range (conformance.Checks{Operator: sample}).Points() {
		claims = append(claims, p.Claim)
	}
	return claims
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

// TestPage checks that the page shows the points for any custom resource, all of which hold for our operator by TestSamples, if they apply.
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
		outcome := framework.Holds
		if p.Claim == undecodable || p.Claim == upgraded { // our CRD allows no such object, and no version before is given
			outcome = framework.DoesNotApply
		}
		results = append(results, framework.Result{Feature: p.Claim, Outcome: outcome})
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

// brokenBy returns what calls [broken].
func brokenBy(patches ...string) func(t *testing.T) conformance.Prepared {
	return func(t *testing.T) conformance.Prepared { return broken(t, patches...) }
}

// withBuild returns the environment with the path of an earlier build of our operator where FROM has the name of its patch.
func withBuild(t *testing.T, env []string) []string {
	t.Helper()
	env = slices.Clone(env)
	for i, variable := range env {
		if patch, isBuild := strings.CutPrefix(variable, "FROM=builds/"); isBuild {
			env[i] = "FROM=" + broken(t, "builds/"+patch).Binary
		}
	}
	return env
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
	for _, name := range patches {
		if strings.HasPrefix(name, "builds/") { // is no fault
			path := filepath.Join(root, "e2e", "memcached", name+".patch")
			mutants = append(mutants, mutant.Mutant{Name: name, Path: path, Files: []string{"operator/internal/controller/deployment.go"}})
		}
	}
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
