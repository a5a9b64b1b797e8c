package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// rule is a file of rules with one alert.
func rule(expression string) string {
	content, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "test", "rules": []any{map[string]any{
		"alert": "Test", "expr": expression, "for": "10m", "annotations": map[string]string{"summary": "{{ $labels.namespace }}"},
	}}}}})
	if err != nil {
		panic(err)
	}
	return string(content)
}

// up is a scrape with one gauge and one counter.
func up(gauge, counter int) Scrape {
	return Scrape{Text: fmt.Sprintf("# TYPE open gauge\nopen{namespace=\"own\"} %d\n# TYPE errors_total counter\nerrors_total %d\n"+
		"# TYPE took histogram\ntook_bucket{le=\"+Inf\"} %d\ntook_sum 0\ntook_count %d\n", gauge, counter, counter, counter)}
}

var (
	down = Scrape{Down: true}
	gone = Scrape{Gone: true}
)

// fired evaluates one rule with what two replicas expose, each of them in turn, and returns what has fired.
func fired(t *testing.T, expression, endpoint, every string, scrapes ...[]Scrape) []Fired {
	t.Helper()
	var targets []map[string]any
	for i, of := range scrapes {
		targets = append(targets, map[string]any{"labels": map[string]string{"namespace": "theirs", "pod": fmt.Sprint(i)}, "scrapes": of})
	}
	request, err := json.Marshal(map[string]any{
		"rules": json.RawMessage(rule(expression)), "endpoint": json.RawMessage(endpoint),
		"scenarios": []any{map[string]any{"name": "one", "every": every, "targets": targets}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), bytes.NewReader(request), &out); err != nil {
		t.Fatal(err)
	}
	var outcomes []Outcome
	if err := json.Unmarshal(out.Bytes(), &outcomes); err != nil {
		t.Fatal(err)
	}
	if len(outcomes) != 1 || outcomes[0].Scenario != "one" {
		t.Fatalf("outcomes: %+v", outcomes)
	}
	return outcomes[0].Fired
}

func TestEvaluation(t *testing.T) {
	const honored = `{"honorLabels":true,"relabelings":[{"targetLabel":"job","replacement":"operator"}]}`
	for name, tc := range map[string]struct {
		expression, endpoint, every string
		scrapes                     [][]Scrape
		after                       string // of the first alert; empty if none fires
	}{
		"a gauge that is too low":                  {`open == 0`, honored, "30s", [][]Scrape{{up(1, 0), up(0, 0)}}, "10m45s"},
		"a gauge that is not":                      {`open == 0`, honored, "30s", [][]Scrape{{up(1, 0), up(1, 0)}}, ""},
		"a gauge that was too low once":            {`open == 0`, honored, "30s", [][]Scrape{{up(0, 0), up(1, 0)}}, ""},
		"a gauge that nothing reports any more":    {`open == 0`, honored, "30s", [][]Scrape{{up(0, 0), down}}, ""},
		"a target that is down":                    {`up == 0`, honored, "30s", [][]Scrape{{up(0, 0), down}}, "10m45s"},
		"a target that is gone":                    {`up == 0`, honored, "30s", [][]Scrape{{up(0, 0), gone}}, ""},
		"no target that is up":                     {`absent(up{job="operator"} == 1)`, honored, "30s", [][]Scrape{{up(0, 0), gone}, {up(0, 0), down}}, "10m45s"},
		"one target of two that is up":             {`absent(up{job="operator"} == 1)`, honored, "30s", [][]Scrape{{up(0, 0), gone}, {up(0, 0), up(0, 0)}}, ""},
		"a counter that grows at every scrape":     {`rate(errors_total[5m]) > 0`, honored, "30s", [][]Scrape{{up(0, 3), up(0, 4)}}, "10m45s"},
		"a counter that grows often enough":        {`rate(errors_total[5m]) > 0`, honored, "4m", [][]Scrape{{up(0, 3), up(0, 4)}}, "10m45s"},
		"a counter that grows too seldom":          {`rate(errors_total[5m]) > 0`, honored, "6m", [][]Scrape{{up(0, 3), up(0, 4)}}, ""},
		"a counter that does not grow":             {`rate(errors_total[5m]) > 0`, honored, "30s", [][]Scrape{{up(0, 3), up(0, 3)}}, ""},
		"a counter that grew once":                 {`rate(errors_total[5m]) > 0`, honored, "30s", [][]Scrape{{up(0, 3), up(0, 4), up(0, 4)}}, ""},
		"the buckets of a histogram grow":          {`rate(took_bucket[5m]) > 0`, honored, "30s", [][]Scrape{{up(0, 3), up(0, 4)}}, "10m45s"},
		"a gauge does not grow":                    {`open > 3`, honored, "30s", [][]Scrape{{up(1, 0), up(2, 0)}}, ""},
		"labels that are honored":                  {`open{namespace="own"} == 0`, honored, "30s", [][]Scrape{{up(1, 0), up(0, 0)}}, "10m45s"},
		"labels that are not honored":              {`open{namespace="theirs",exported_namespace="own"} == 0`, `{}`, "30s", [][]Scrape{{up(1, 0), up(0, 0)}}, "10m45s"},
		"a series of two targets":                  {`max(open) == 0`, honored, "30s", [][]Scrape{{up(0, 0), up(0, 0)}, {up(1, 0), up(1, 0)}}, ""},
		"a metric that a relabeling drops":         {`absent(open)`, `{"metricRelabelings":[{"action":"drop","sourceLabels":["__name__"],"regex":"open"}]}`, "30s", [][]Scrape{{up(0, 0), up(0, 0)}}, "10m15s"},
		"a target that a relabeling does not drop": {`absent(open)`, `{"relabelings":[{"action":"keep","sourceLabels":["namespace"],"regex":"the.*"}]}`, "30s", [][]Scrape{{up(0, 0), up(0, 0)}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := fired(t, tc.expression, tc.endpoint, tc.every, tc.scrapes...)
			var after []string
			for _, f := range got {
				after = append(after, f.After)
			}
			if want := strings.Fields(tc.after); !slices.Equal(after, want) {
				t.Errorf("it fires after %q, want %q", after, want)
			}
		})
	}
}

func TestAnnotationsAreExpanded(t *testing.T) {
	got := fired(t, `open == 0`, `{"honorLabels":true}`, "30s", []Scrape{up(0, 0), up(0, 0)})
	if len(got) != 1 || got[0].Alert != "Test" || got[0].Labels["pod"] != "0" || got[0].Annotations["summary"] != "own" {
		t.Errorf("fired: %+v", got)
	}
}

func TestInvalidRequests(t *testing.T) {
	const scenario = `{"name":"one","every":"30s","targets":[{"labels":{},"scrapes":[%s]}]}`
	request := func(rules, scrapes string) string {
		return fmt.Sprintf(`{"rules":%s,"endpoint":{},"scenarios":[%s]}`, rules, fmt.Sprintf(scenario, scrapes))
	}
	const fine = `{"text":"a 1\n"},{"text":"a 1\n"}`
	for want, content := range map[string]string{
		"there are no alerts":        request(`{"groups":[]}`, fine),
		"could not parse expression": request(rule("open ="), fine),
		"field expression not found": request(strings.Replace(rule("open"), `"expr"`, `"expression"`, 1), fine),
		"has 1 scrapes":              request(rule("open"), `{"text":"a 1\n"}`),
		"there are no metrics":       request(rule("open"), `{"text":"a 1\n"},{"text":""}`),
		"scrape 1":                   request(rule("open"), `{"text":"a 1\n"},{"text":"<html>\n"}`),
		"unknown field":              `{"alerts":{}}`,
	} {
		if err := run(t.Context(), strings.NewReader(content), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
