package framework

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"
)

// reported is set where this executable runs features whose report is tested.
const reported = "REPORT_TEST_INNER"

// TestReported runs features of every outcome.
func TestReported(t *testing.T) {
	if os.Getenv(reported) == "" {
		t.Skip("run by TestReport")
	}
	pass := func(context.Context, *Scope) {}
	suite := &Suite{options: Options{Name: "colors"}, reports: inherited, env: env.NewWithConfig(envconf.New()).BeforeEachFeature(
		func(ctx context.Context, _ *envconf.Config, t *testing.T, f types.Feature) (context.Context, error) {
			if f.Name() == "unprepared" {
				return ctx, errors.New("no namespace")
			}
			return context.WithValue(ctx, scopeKey{}, &Scope{T: t}), nil
		})}
	for name, of := range map[string]func(*Feature){
		"holds": func(f *Feature) { f.WithLabel("contract", "size").Setup(pass).Assess("one", pass) },
		"fails twice": func(f *Feature) {
			f.Assess("one", func(_ context.Context, s *Scope) { s.Error("it is", 7) }).
				Assess("two", func(_ context.Context, s *Scope) { s.Fatal("never mentioned") })
		},
		"differs": func(f *Feature) {
			f.Assess("one", pass).Assess("two", func(_ context.Context, s *Scope) {
				s.Run("part", func(t *testing.T) {
					s.With(t).Fatalf("Pod ns/a: expected %s; last seen: %s (gave up after 10s)", "red", "<blue> (dark)")
				})
			})
		},
		"of gomega": func(f *Feature) {
			f.Setup(func(_ context.Context, s *Scope) { NewWithT(s).Expect(1).To(Equal(2)) }).Assess("one", pass)
		},
		"by its test": func(f *Feature) {
			f.Assess("one", func(_ context.Context, s *Scope) { s.Run("part", func(t *testing.T) { t.Error("unheard") }) })
		},
		"can't": func(f *Feature) { f.Setup(func(_ context.Context, s *Scope) { s.needs(false, "no %s", "kubelet") }) },
		"can't compile": func(f *Feature) {
			f.Setup(func(_ context.Context, s *Scope) {
				s.Setenv("TESTBED_GO", "no")
				s.NeedsGo()
			})
		},
		"needs not":  func(f *Feature) { f.Assess("one", func(_ context.Context, s *Scope) { s.DoesNotApply("no port") }) },
		"left out":   func(*Feature) {},
		"unprepared": func(f *Feature) { f.Assess("one", pass) },
		"both": func(f *Feature) {
			f.Assess("one", func(_ context.Context, s *Scope) { s.Skip("not here") }).
				Assess("two", func(_ context.Context, s *Scope) { s.Fatal("no") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			feature := suite.Feature(name)
			of(feature)
			feature.TestAlone(t)
		})
	}
	skipped := &Suite{options: suite.options, reports: inherited, skip: "no cluster"}
	t.Run("skipped", func(t *testing.T) { skipped.Feature("skipped").Assess("one", pass).Test(t) })
}

func TestReport(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "report.jsonl")
	cmd := exec.Command(self, "-test.run=^TestReported$", "-test.v")
	cmd.Env = append(os.Environ(), reported+"=yes", reportVariable+"="+path)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("features fail, and the tests passed:\n%s", out)
	}
	// What is printed is what a *testing.T prints: the place in the step, and the message.
	if !strings.Contains(string(out), "report_test.go:") || strings.Contains(string(out), "report.go:") {
		t.Errorf("expected the places of the features' own lines:\n%s", out)
	}
	// What counts as proven is what holds.
	if attributes := regexp.MustCompile(`(?m)^=== ATTR.*$`).FindAllString(string(out), -1); !slices.Equal(attributes, []string{"=== ATTR  TestReported/holds testbed.proves feature 1"}) {
		t.Errorf("the attributes are %q, expected that one feature is proven", attributes)
	}
	want := map[string]Result{
		"holds":       {Outcome: Holds, Labels: map[string]string{"contract": "size"}},
		"fails twice": {Outcome: DoesNotHold, Step: "one", Message: "it is 7"},
		"differs": {
			Outcome: DoesNotHold, Step: "two", Expected: "red", Seen: "<blue> (dark)",
			Message: "Pod ns/a: expected red; last seen: <blue> (dark) (gave up after 10s)",
		},
		"of gomega": {
			Outcome: DoesNotHold, Expected: "to equal 2", Seen: "1",
			Message: "Expected\n    <int>: 1\nto equal\n    <int>: 2",
		},
		"by its test":   {Outcome: DoesNotHold, Step: "one"},
		"can't":         {Outcome: NotTried, Reason: "no kubelet"},
		"can't compile": {Outcome: NotTried, Reason: "this compiles programs, which a grader's cell can't; make test shows it"},
		"needs not":     {Outcome: DoesNotApply, Step: "one", Reason: "no port"},
		"unprepared":    {Outcome: NotTried, Reason: "the test failed before the feature's first step; its output says why"},
		"both":          {Outcome: DoesNotHold, Step: "two", Message: "no"},
		"skipped":       {Outcome: NotTried, Reason: "no cluster"},
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := json.NewDecoder(file); ; {
		var got Result
		if err := lines.Decode(&got); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		expected, ok := want[got.Feature]
		if !ok {
			t.Errorf("unexpected, or a second time: %+v", got)
			continue
		}
		delete(want, got.Feature)
		if tried := got.Outcome != NotTried || strings.HasPrefix(got.Feature, "can't"); tried != (got.Took != "") {
			t.Errorf("%s took %q", got.Feature, got.Took)
		}
		expected.Failed = expected.Outcome == DoesNotHold || got.Feature == "unprepared"
		expected.Suite, expected.Feature = "colors", got.Feature
		expected.Test, expected.Took = "TestReported/"+strings.ReplaceAll(got.Feature, " ", "_"), got.Took
		NewWithT(t).Expect(got).To(Equal(expected))
	}
	if len(want) > 0 {
		t.Errorf("not in the report: %+v", want)
	}
}

// Suites of several processes write to one file.
func TestReportIsAppendedTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.jsonl")
	for range 2 {
		r := &result{began: time.Now()}
		if err := r.writeTo(&reporter{path: path}, false); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil || strings.Count(string(content), "\n") != 2 {
		t.Errorf("expected two lines, got %q, %v", content, err)
	}
	r := &result{began: time.Now()}
	if err := r.writeTo(&reporter{path: filepath.Join(path, "beneath")}, false); err == nil {
		t.Error("no error for a file that can't be there")
	}
	if err := r.writeTo(&reporter{}, false); err != nil {
		t.Errorf("without a file: %v", err)
	}
}

// A suite whose cluster or operator does not start says which of them, and why.
func TestReportOfAStart(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "report.jsonl")
	for feature, suite := range map[string]*Suite{
		StartOfCluster:  {options: Options{Name: "colors"}},
		StartOfOperator: {options: Options{Name: "colors"}, config: &rest.Config{}},
	} {
		suite.reports = &reporter{path: path}
		start := suite.reported(func(ctx context.Context, _ *envconf.Config) (context.Context, error) { return ctx, errors.New("no") })
		_, err := start(t.Context(), nil)
		g.Expect(err).To(MatchError("no"))
		content, err := os.ReadFile(path)
		g.Expect(err).NotTo(HaveOccurred())
		var got Result
		g.Expect(json.Unmarshal(content, &got)).To(Succeed())
		want := Result{Suite: "colors", Feature: feature, Outcome: NotTried, Reason: "no", Failed: true}
		if feature == StartOfOperator {
			want.Outcome, want.Reason, want.Message = DoesNotHold, "", "no"
		}
		g.Expect(got).To(Equal(want))
		g.Expect(os.Remove(path)).To(Succeed())

		interrupted, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = start(interrupted, nil)
		g.Expect(err).To(HaveOccurred())
		g.Expect(path).NotTo(BeAnExistingFile(), "Ctrl-C says nothing about the operator")
	}
}

func TestHalves(t *testing.T) {
	for message, want := range map[string][2]string{
		"Deployment ns/a: expected it to exist; last seen: it does not (gave up after 50ms)": {"the Deployment ns/a to exist", "it does not"},
		"the operator: expected it to be ready; last seen: 503":                              {"the operator to be ready", "503"},
		"expected it to exist; last seen: it does not":                                       {"it to exist", "it does not"},
		"noise\nv1.PodList in ns: expected it to be gone; last seen: ns/b":                   {"the v1.PodList in ns to be gone", "ns/b"},
		"op: expected at most 3 writes; last seen: 4:\n  create\n  patch":                    {"at most 3 writes", "4:\n  create\n  patch"},
		"expected each to differ; last seen twice:\n{}":                                      {"each to differ", "{}"},
		"expected 3, got 4": {"3", "4"},
		"Pod ns/a: Expected\n    <int>: 1\nto be zero (stopped: Ctrl-C)":                                                               {"to be zero", "1"},
		"Expected\n    <int>: 0\nnot to be zero":                                                                                       {"not to be zero", "0"},
		"Expected\n    <string>: -p 1\nto match regular expression\n    <string>: -p 2":                                                {"to match regular expression -p 2", "-p 1"},
		"Expected\n    <[]int32 | len:1, cap:1>: [1]\nto contain element matching\n    <int32>: 2":                                     {"to contain element matching 2", "[1]"},
		"Expected\n    <int32>: 3\nto equal\n    <int>: 3":                                                                             {"to equal <int>: 3", "<int32>: 3"},
		"Deployment a: Value for field 'Spec.Replicas' failed to satisfy matcher.\nExpected\n    <int32>: 3\nto equal\n    <int32>: 2": {"Spec.Replicas to equal 2", "3"},
		"connection refused": {},
	} {
		if expected, seen := halves(message); expected != want[0] || seen != want[1] {
			t.Errorf("of %q: got %q and %q, expected %q", message, expected, seen, want)
		}
	}
}
