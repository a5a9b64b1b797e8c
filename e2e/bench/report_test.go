package bench

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// example is a report in which targets are missed by a little and by a lot, and one is met.
func example() Report {
	report := Report{Title: "The embedded cluster", Machine: "linux/amd64, 2 CPUs, Kubernetes v1.37.0"}
	for _, m := range []struct {
		name, unit string
		values     []float64
	}{
		{envtestStart, "ms", []float64{2000, 1000, 3000}},
		{envtestCPU, "ms", []float64{3000, 3100, 3200}},
		{embeddedStart, "ms", []float64{2500, 2502.4, 9000}},
		{embeddedCPU, "ms", []float64{4000, 4400, 4200}},
		{"  etcd", "ms", []float64{100, 150, 120}},
		{"  kube-apiserver", "ms", []float64{3900, 4250, 4080}},
		{embeddedMemory, "MiB", []float64{560.4, 550, 720}},
		{embeddedEnd, "ms", []float64{80, 120, 90}},
		{embeddedReset, "ms", []float64{200, 150, 310}},
	} {
		for _, value := range m.values {
			report.add(sample{m.name, m.unit, value})
		}
	}
	report.holdCluster()
	return report
}

const exampleTable = `The embedded cluster
linux/amd64, 2 CPUs, Kubernetes v1.37.0

                                         min   median      max
envtest: Environment.Start              1000     2000     3000  ms
envtest: CPU time, with its stop        3000     3100     3200  ms
embedded: Deployment of 3 Available     2500     2502     9000  ms
embedded: CPU time until then           4000     4200     4400  ms
  etcd                                   100      120      150  ms
  kube-apiserver                        3900     4080     4250  ms
embedded: resident memory                550      560      720  MiB
embedded: Destroy                         80       90      120  ms
embedded: Reset                          150      200      310  ms

start, embedded to envtest (minima)      2.50      aim: at most 0.85      missed by 1.65 (194 %)
CPU time, embedded to envtest (minima)   1.33      aim: at most 0.80      missed by 0.53 (67 %)
memory of all processes (max)            720 MiB   aim: at most 600 MiB   missed by 120 MiB (20 %)
destroy (median)                         90 ms     aim: at most 500 ms    met
reset (median of 20)                     200 ms    aim: at most 300 ms    met
`

func TestTable(t *testing.T) {
	var table strings.Builder
	if err := example().WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(exampleTable, table.String()); diff != "" {
		t.Errorf("the table differs (-want +got):\n%s", diff)
	}
}

func TestJSONHoldsWhatTheTableRounds(t *testing.T) {
	var text strings.Builder
	if err := example().WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal([]byte(text.String()), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(example(), back); diff != "" {
		t.Errorf("the report is another one when read again (-want +got):\n%s", diff)
	}
	for _, field := range []string{`"median": 2502.4`, `"samples": [`, `"met": false`, `"limit": 0.85`} {
		if !strings.Contains(text.String(), field) {
			t.Errorf("no %s in:\n%s", field, &text)
		}
	}
}

func TestAnAimIsMetAtItsLimit(t *testing.T) {
	if aim := NewAim("destroy", 500, 500, "ms"); !aim.Met || aim.Verdict() != "met" {
		t.Errorf("at its limit: %+v, %s", aim, aim.Verdict())
	}
	if aim := NewAim("destroy", 501, 500, "ms"); aim.Met || aim.Verdict() != "missed by 1 ms (0 %)" {
		t.Errorf("above its limit: %+v, %s", aim, aim.Verdict())
	}
}

// TestMeasure leaves the warm-up out, and what a run that fails has kept.
func TestMeasure(t *testing.T) {
	var report Report
	var progress strings.Builder
	enough := errors.New("enough")
	count := 0.0
	err := report.measure(&progress, 3, func(r *run) error {
		r.keep("count", "", count)
		if count++; count == 4 {
			return enough
		}
		_, err := r.time("counting", func() error { return nil })
		return err
	})
	if !errors.Is(err, enough) {
		t.Errorf("the error is %v", err)
	}
	if diff := cmp.Diff([]Measure{{Name: "count", Samples: []float64{1, 2}, Summary: Summary{1, 1.5, 2}}}, report.Measures); diff != "" {
		t.Errorf("the measures differ (-want +got):\n%s", diff)
	}
	if want := "warm-up: counting\nrun 1 of 3: counting\nrun 2 of 3: counting\n"; progress.String() != want {
		t.Errorf("the progress is %q", progress.String())
	}
}
