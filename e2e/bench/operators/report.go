package operators

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/example/operator-testbed/e2e/bench"
)

// What an operator should keep to with the largest number of objects.
const (
	writesMeanLimit  = 3.1
	writesMaxLimit   = 4
	reconcilesLimit  = 5    // for each object; one object alone may take 7
	timeLimit        = 1.35 // times the floor
	cpuLimit         = 0.7  // times the scaffold
	memoryLimit      = 75   // MiB, resident
	heapLimit        = 10   // KiB for each object
	foreignHeapLimit = 1    // MiB for all Deployments of others
)

// column is one figure of a result.
type column struct {
	title string
	value func(Result) string
}

// columns are those of the table. A floor has the first three alone.
var columns = []column{
	{"subject", func(r Result) string { return r.Subject }},
	{"objects", func(r Result) string { return fmt.Sprint(r.Objects) }},
	{"all Available", func(r Result) string { return fmt.Sprintf("%.1f s", r.Available.Seconds()) }},
	{"reads", func(r Result) string { return fmt.Sprint(r.verbs("get", "list", "watch")) }},
	{"creates", func(r Result) string { return fmt.Sprint(r.verbs("create")) }},
	{"updates, patches", func(r Result) string { return fmt.Sprint(r.verbs("update", "patch")) }},
	{"writes per object", func(r Result) string { return fmt.Sprintf("%.1f (max %d)", r.WritesMean, r.WritesMax) }},
	{"409s", func(r Result) string { return fmt.Sprint(r.Conflicts) }},
	{"quiet writes", func(r Result) string { return fmt.Sprint(r.QuietWrites) }},
	{"restart writes", func(r Result) string { return fmt.Sprint(r.RestartWrites) }},
	{"false Available", func(r Result) string { return fmt.Sprint(r.FalseAvailable) }},
	{"reconciles per object", func(r Result) string { return fmt.Sprintf("%.1f", r.Reconciles) }},
	{"CPU", func(r Result) string { return fmt.Sprintf("%.1f s", r.CPU.Seconds()) }},
	{"peak memory", func(r Result) string { return fmt.Sprintf("%.0f MiB", r.PeakMemory) }},
	{"repair p50, p99", func(r Result) string {
		return fmt.Sprintf("%d, %d ms", percentile(r.Repairs, 50).Milliseconds(), percentile(r.Repairs, 99).Milliseconds())
	}},
}

const columnsOfFloor = 3

func (r Result) verbs(verbs ...string) int {
	total := 0
	for _, verb := range verbs {
		total += r.Requests[verb]
	}
	return total
}

// percentile is the smallest of the times that p percent of them do not exceed; zero if there are none.
func percentile(times []time.Duration, p int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[(len(sorted)*p+99)/100-1]
}

// WriteMarkdown writes the results as a table, and holds the subject that ours names against the aims.
func WriteMarkdown(w io.Writer, results []Result, ours string) error {
	var b strings.Builder
	for _, c := range columns {
		b.WriteString("| " + c.title + " ")
	}
	b.WriteString("|\n" + strings.Repeat("|---", len(columns)) + "|\n")
	for _, r := range results {
		for i, c := range columns {
			value := ""
			if r.operator() || i < columnsOfFloor {
				value = c.value(r)
			}
			b.WriteString("| " + value + " ")
		}
		b.WriteString("|\n")
	}
	b.WriteString("\n| aim, of " + ours + " | measured | at most | |\n|---|---|---|---|\n")
	for _, aim := range Aims(results, ours) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", aim.Name, figure(aim.Value, aim.Unit), figure(aim.Limit, aim.Unit), aim.Verdict())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func figure(value float64, unit string) string {
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", value), "0"), ".") + " " + unit)
}

// Aims holds a subject's results with the largest number of objects against the aims.
func Aims(results []Result, subject string) []bench.Aim {
	own := slices.DeleteFunc(slices.Clone(results), func(r Result) bool { return r.Subject != subject })
	if len(own) == 0 {
		return nil
	}
	byObjects := func(a, b Result) int { return a.Objects - b.Objects }
	least, most := slices.MinFunc(own, byObjects), slices.MaxFunc(own, byObjects)
	of := fmt.Sprintf(" with %d objects", most.Objects)
	aims := []bench.Aim{
		bench.NewAim("writes per object, mean,"+of, most.WritesMean, writesMeanLimit, ""),
		bench.NewAim("writes per object, most,"+of, float64(most.WritesMax), writesMaxLimit, ""),
		bench.NewAim("writes while quiet"+of, float64(most.QuietWrites), 0, ""),
		bench.NewAim("writes after a restart"+of, float64(most.RestartWrites), 0, ""),
		bench.NewAim("conflicts"+of, float64(most.Conflicts), 0, ""),
		bench.NewAim("false Available"+of, float64(most.FalseAvailable), 0, ""),
		bench.NewAim("reconciles per object"+of, most.Reconciles, reconcilesLimit, ""),
		bench.NewAim("peak memory"+of, most.PeakMemory, memoryLimit, "MiB"),
	}
	for _, r := range results {
		switch {
		case r.Objects != most.Objects || r.Subject == subject:
		case r.Subject == floor:
			aims = append(aims, bench.NewAim("time to the floor's"+of, most.Available.Seconds()/r.Available.Seconds(), timeLimit, ""))
		default:
			aims = append(aims, bench.NewAim("CPU time to the "+r.Subject+"'s"+of, most.CPU.Seconds()/r.CPU.Seconds(), cpuLimit, ""))
		}
	}
	if least.Objects < most.Objects {
		slope := (most.Heap - least.Heap) * 1024 / float64(most.Objects-least.Objects)
		aims = append(aims, bench.NewAim("heap per object", slope, heapLimit, "KiB"))
	}
	for _, r := range own {
		if r.Foreign > 0 {
			aims = append(aims, bench.NewAim(fmt.Sprintf("heap for %d Deployments of others", r.Foreign), r.ForeignHeap, foreignHeapLimit, "MiB"))
		}
	}
	return aims
}
