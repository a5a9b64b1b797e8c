package operator_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	_ "github.com/example/operator-testbed/operator/internal/controller" // registers its metrics, and those of controller-runtime
	"github.com/example/operator-testbed/operator/internal/metrics"
	_ "github.com/example/operator-testbed/operator/internal/webhook/v1alpha1" // likewise
)

// alert is a Rule of the Prometheus operator.
type alert struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// scrapedJob returns the job that the ServiceMonitor gives to the metrics.
func scrapedJob(t *testing.T) string {
	t.Helper()
	endpoints, _, err := unstructured.NestedSlice(objectOf(t, render(t, "prometheus"), "ServiceMonitor").Object, "spec", "endpoints")
	if err != nil || len(endpoints) != 1 {
		t.Fatalf("endpoints: %v, %v", endpoints, err)
	}
	for _, relabeling := range endpoints[0].(map[string]any)["relabelings"].([]any) {
		if fields := relabeling.(map[string]any); fields["targetLabel"] == "job" {
			return fields["replacement"].(string)
		}
	}
	t.Fatal("the ServiceMonitor sets no job")
	return ""
}

// The alerts use metrics that the operator exports, and labels that these have, in expressions that Prometheus can parse.
func TestAlerts(t *testing.T) {
	known := exported(t)
	known["up"] = nil // set by Prometheus itself
	job := scrapedJob(t)
	asked := map[string]bool{}
	for _, a := range alerts(t) {
		t.Run(a.Alert, func(t *testing.T) {
			for _, complaint := range a.problems(known) {
				t.Error(complaint)
			}
			for _, s := range selectors(a.Expr) {
				asked[s.metric] = true
			}
			for _, match := range jobs.FindAllStringSubmatch(a.Expr, -1) {
				if match[1] != job {
					t.Errorf("it asks for the job %s, where Prometheus scrapes %s", match[1], job)
				}
			}
		})
	}
	// Each waits for longer than a rollout of the operator, or an ordinary problem, takes.
	want := map[string]string{
		"MemcachedOperatorDown": "critical after 10m", "MemcachedOperatorWithoutLeader": "critical after 5m", "MemcachedReconcileErrors": "warning after 15m",
		"MemcachedOperatorCertificates": "warning after 15m", "MemcachedWebhookErrors": "warning after 15m", "MemcachedNotAvailable": "warning after 10m",
		"MemcachedDegraded": "warning after 5m", "MemcachedSlowToBecomeAvailable": "warning after 15m",
	}
	got := map[string]string{}
	for _, a := range alerts(t) {
		got[a.Alert] = a.Labels["severity"] + " after " + a.For
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("alerts (-want +got):\n%s", diff)
	}
	for _, metric := range []string{"memcached_operator_condition", "memcached_operator_time_to_available_seconds_bucket"} {
		if !asked[metric] {
			t.Errorf("no alert asks for %s", metric)
		}
	}
}

func TestAlertIsJudged(t *testing.T) {
	known := map[string][]string{"writes_total": {"operation"}}
	fine := alert{Expr: `sum by (operation) (rate(writes_total{job="j",operation="create"}[5m])) > 0`, For: "5m",
		Annotations: map[string]string{"summary": "{{ $labels.operation }}"}}
	for name, test := range map[string]struct {
		change func(*alert)
		want   string // part of the complaint; empty if the alert is valid
	}{
		"fine":                {func(*alert) {}, ""},
		"an unknown metric":   {func(a *alert) { a.Expr = `reads_total{job="j"} > 0` }, "the operator does not export reads_total"},
		"without a selection": {func(a *alert) { a.Expr = `sum(writes_total) > 0` }, "names writes_total without saying of which job"},
		"an unknown label":    {func(a *alert) { a.Expr = `writes_total{job="j",verb="get"} > 0` }, "writes_total has no label verb"},
		"an open parenthesis": {func(a *alert) { a.Expr = `sum(rate(writes_total{job="j"}[5m]) > 0` }, "its brackets do not match"},
		"no duration":         {func(a *alert) { a.For = "soon" }, "soon"},
		"a lost label":        {func(a *alert) { a.Annotations["summary"] = "{{ $labels.namespace }}" }, "namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			a := fine
			a.Annotations = map[string]string{"summary": fine.Annotations["summary"]}
			test.change(&a)
			complaints := strings.Join(a.problems(known), "\n")
			if test.want == "" && complaints != "" || !strings.Contains(complaints, test.want) {
				t.Errorf("complaints = %q, want %q", complaints, test.want)
			}
		})
	}
}

// alerts returns the alerts of all groups.
func alerts(t *testing.T) []alert {
	t.Helper()
	var spec struct {
		Groups []struct {
			Name  string  `json:"name"`
			Rules []alert `json:"rules"`
		} `json:"groups"`
	}
	for _, object := range render(t, "prometheus") {
		if object.GetKind() != "PrometheusRule" {
			continue
		}
		content, _, err := unstructured.NestedMap(object.Object, "spec")
		if err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, &spec, true)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var found []alert
	for _, group := range spec.Groups {
		found = append(found, group.Rules...)
	}
	if len(found) == 0 {
		t.Fatal("there are no alerts")
	}
	return found
}

// selector matches the part of an expression that selects samples.
type selector struct {
	metric string
	labels []string
}

var (
	selection = regexp.MustCompile(`([a-zA-Z_:][\w:]*)\{([^}]*)\}`)
	matcher   = regexp.MustCompile(`(\w+)\s*[=!]~?`)
	grouping  = regexp.MustCompile(`\bby\s*\(([^)]*)\)`)
	jobs      = regexp.MustCompile(`\bjob="([^"]*)"`)
	quoted    = regexp.MustCompile(`"[^"]*"`)
	metric    = regexp.MustCompile(`[a-zA-Z_:][\w:]*_[\w:]*`)
	function  = regexp.MustCompile(`[a-zA-Z_]\w*\s*\(`)
)

func selectors(expression string) []selector {
	var found []selector
	for _, match := range selection.FindAllStringSubmatch(expression, -1) {
		s := selector{metric: match[1]}
		for _, label := range matcher.FindAllStringSubmatch(quoted.ReplaceAllString(match[2], `""`), -1) {
			s.labels = append(s.labels, label[1])
		}
		found = append(found, s)
	}
	return found
}

// problems returns what is wrong with the alert, given the labels of each metric by the metric's name.
func (a alert) problems(known map[string][]string) []string {
	var complaints []string
	complain := func(format string, args ...any) { complaints = append(complaints, fmt.Sprintf(format, args...)) }

	for _, s := range selectors(a.Expr) {
		labels, ok := known[s.metric]
		if !ok {
			complain("the operator does not export %s", s.metric)
		}
		for _, label := range s.labels {
			if ok && label != "job" && !slices.Contains(labels, label) {
				complain("%s has no label %s", s.metric, label)
			}
		}
	}
	rest := function.ReplaceAllString(grouping.ReplaceAllString(selection.ReplaceAllString(a.Expr, ""), ""), "(")
	if unselected := metric.FindString(rest); unselected != "" {
		complain("it names %s without saying of which job", unselected)
	}
	if !balanced(quoted.ReplaceAllString(a.Expr, "")) {
		complain("its brackets do not match")
	}
	if _, err := model.ParseDuration(a.For); err != nil {
		complain("for: %v", err)
	}

	// An aggregation keeps only the labels that it groups by.
	labels := map[string]string{}
	for _, match := range grouping.FindAllStringSubmatch(a.Expr, -1) {
		for label := range strings.SplitSeq(match[1], ",") {
			labels[strings.TrimSpace(label)] = "value"
		}
	}
	for key, text := range a.Annotations {
		parsed, err := template.New(key).Option("missingkey=error").Parse("{{ $labels := . }}" + text)
		if err == nil {
			err = parsed.Execute(&bytes.Buffer{}, labels)
		}
		if err != nil {
			complain("%v", err)
		}
	}
	return complaints
}

// balanced reports whether each bracket is closed by one of its kind.
func balanced(text string) bool {
	closing := map[rune]rune{'(': ')', '[': ']', '{': '}'}
	var open []rune
	for _, r := range text {
		switch {
		case closing[r] != 0:
			open = append(open, closing[r])
		case strings.ContainsRune(")]}", r):
			if len(open) == 0 || open[len(open)-1] != r {
				return false
			}
			open = open[:len(open)-1]
		}
	}
	return len(open) == 0
}

var description = regexp.MustCompile(`fqName: "([^"]+)".* variableLabels: \{([^}]*)\}`)

// exported returns the labels of all metrics that the operator exports, by name.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	registry, ok := ctrlmetrics.Registry.(prometheus.Collector)
	if !ok {
		t.Fatalf("controller-runtime's registry is a %T, which does not list its metrics", ctrlmetrics.Registry)
	}
	known := map[string][]string{}
	for _, collector := range []prometheus.Collector{registry, &metrics.Collector{}} {
		descriptions := make(chan *prometheus.Desc)
		go func() {
			defer close(descriptions)
			collector.Describe(descriptions)
		}()
		for d := range descriptions {
			if match := description.FindStringSubmatch(d.String()); match != nil {
				known[match[1]] = strings.Split(match[2], ",")
			}
		}
	}
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetType() != dto.MetricType_HISTOGRAM {
			continue
		}
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			known[family.GetName()+suffix] = append(slices.Clone(known[family.GetName()]), "le")
		}
		delete(known, family.GetName())
	}
	return known
}
