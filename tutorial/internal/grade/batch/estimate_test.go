package batch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/example/operator-testbed/tutorial/internal/grade/batch"
	"github.com/example/operator-testbed/tutorial/internal/grade/golden"
)

func TestEstimate(t *testing.T) {
	const gibibyte = 1 << 30
	for _, test := range []struct {
		cost  batch.Cost
		n     int
		cores int
		free  uint64
		want  time.Duration
	}{
		{batch.Cost{Time: 10 * time.Second, CPU: 5 * time.Second}, 30, 2, 0, 300 * time.Second},
		{batch.Cost{Time: 10 * time.Second, CPU: 5 * time.Second}, 30, 8, 0, 75 * time.Second},
		{batch.Cost{Time: 10 * time.Second, CPU: 5 * time.Second}, 30, 8, 3 * gibibyte, 150 * time.Second}, // memory for two
		{batch.Cost{Time: 10 * time.Second, CPU: 40 * time.Second}, 30, 8, 0, 150 * time.Second},           // busy cores
		{batch.Cost{Time: 10 * time.Second, CPU: 5 * time.Second}, 3, 1, 0, 30 * time.Second},
	} {
		if got := test.cost.Estimate(test.n, test.cores, test.free); got != test.want {
			t.Errorf("%+v: got %v", test, got)
		}
	}
}

// measured are the costs in testdata/measured.json, as make class-grade prints them, and where they were measured.
type measured struct {
	On    string
	Costs []struct {
		Of          string
		Submissions int
		Seconds     float64
		CPUSeconds  float64
	}
}

// TestTimes computes the table of docs/class.md from what was measured.
func TestTimes(t *testing.T) {
	text, err := os.ReadFile("testdata/measured.json")
	if err != nil {
		t.Fatal(err)
	}
	var m measured
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	machines := []int{2, 8, 32}
	var table bytes.Buffer
	table.WriteString("| submissions | measured for each |")
	for _, cores := range machines {
		fmt.Fprintf(&table, " %d cores, %d GiB free |", cores, int(math.Ceil(1.5*float64(batch.Parallel(cores, 0)))))
	}
	table.WriteString("\n|---|---|" + strings.Repeat("---|", len(machines)) + "\n")
	for _, c := range m.Costs {
		if c.Submissions == 0 {
			t.Fatalf("%s: no submissions were measured", c.Of)
		}
		seconds := func(s float64) time.Duration { return time.Duration(s / float64(c.Submissions) * float64(time.Second)) }
		cost := batch.Cost{Time: seconds(c.Seconds), CPU: seconds(c.CPUSeconds)}
		for _, n := range []int{30, 200, 500} {
			fmt.Fprintf(&table, "| %d of %s | %.0f s, %.0f CPU s |", n, c.Of, cost.Time.Seconds(), cost.CPU.Seconds())
			for _, cores := range machines {
				fmt.Fprintf(&table, " %.0f |", math.Ceil(cost.Estimate(n, cores, 0).Minutes()))
			}
			table.WriteString("\n")
		}
	}
	golden.Section(t, "../../../../docs/class.md", "computed from tutorial/internal/grade/batch/testdata/measured.json: go test ./tutorial/internal/grade/batch -update",
		table.String())
	if page, err := os.ReadFile("../../../../docs/class.md"); err != nil || !strings.Contains(string(page), m.On) {
		t.Errorf("docs/class.md does not say that the costs were measured on %s: %v", m.On, err)
	}
}
