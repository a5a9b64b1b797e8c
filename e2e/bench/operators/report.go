package operators

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/example/operator-testbed/e2e/bench"
)

// The targets of an operator with the largest number of objects.
const (
	writesMeanLimit  = 3.1
	writesMaxLimit   = 4
	reconcilesLimit  = 5    // for each object; one object alone may take 7
	timeLimit        = 1.35 // times the floor, as for a rollout
	scaleTimeLimit   = 1.2  // times the floor, for a change of size
	scaleWritesLimit = 3
	cpuLimit         = 0.7 // times the scaffold
	memoryLimit      = 75  // MiB, resident
	heapLimit        = 10  // KiB for each object
	foreignHeapLimit = 1   // MiB for all foreign Deployments
)

// table shows results, and aims. A floor has only the first three figures.
var table = template.Must(template.New("table").Funcs(template.FuncMap{"figure": figure}).Parse(
	`| subject | objects | all Available | reads | creates | updates, patches | writes per object | 409s | quiet writes | restart writes | false Available | reconciles per object | CPU | peak memory | repair p50, p99 |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
{{- range .Results}}
| {{.Subject}} | {{.Objects}} | {{printf "%.1f s" .Available.Seconds}} |
{{- if .Requests}} {{.Verbs "get" "list" "watch"}} | {{.Verbs "create"}} | {{.Verbs "update" "patch"}} |
{{- printf " %.1f (max %d)" .WritesMean .WritesMax}} | {{.Conflicts}} | {{.QuietWrites}} | {{.RestartWrites}} | {{.FalseAvailable}} |
{{- printf " %.1f | %.1f s | %.0f MiB" .Reconciles .CPU.Seconds .PeakMemory}} |
{{- printf " %d, %d ms |" (.Repair 50).Milliseconds (.Repair 99).Milliseconds}}
{{- else}}  |  |  |  |  |  |  |  |  |  |  |  |{{end}}
{{- end}}

| subject | objects | pods ready after | size 3 to 5 | writes per object | rollout | writes per object |
|---|---|---|---|---|---|---|
{{- range .Changes}}
| {{.Subject}} | {{.Objects}} | {{.PodsReadyAfter}} |{{range .Phases}} {{printf "%.1f s | %.2f (max %d) |" .Time.Seconds .WritesMean .WritesMax}}{{end}}
{{- end}}

{{with .Fits -}}
| subject | peak memory | peak memory | per object | limit of the pod | objects that fit |
|---|---|---|---|---|---|
{{- range .}}
| {{.Subject}} | {{printf "%.0f MiB with %d" .Least.PeakMemory .Least.Objects}} | {{printf "%.0f MiB with %d" .Most.PeakMemory .Most.Objects}} | {{printf "%.0f KiB" .PerObject}} | {{printf "%.0f MiB" .Limit}} | {{.Objects}} |
{{- end}}

{{end -}}
| aim, of {{.Ours}} | measured | at most | |
|---|---|---|---|
{{range .Aims}}| {{.Name}} | {{figure .Value .Unit}} | {{figure .Limit .Unit}} | {{.Verdict}} |
{{end}}`))

// Verbs returns how many of the requests have one of the verbs.
func (r Result) Verbs(verbs ...string) int {
	total := 0
	for _, verb := range verbs {
		total += r.Requests[verb]
	}
	return total
}

// Repair is the shortest time that p percent of the repairs did not exceed; zero if there are none.
func (r Result) Repair(p int) time.Duration {
	sorted := slices.Sorted(slices.Values(append(slices.Clip(r.Repairs), 0)))
	return sorted[(len(r.Repairs)*p+99)/100]
}

// Phases are the changes of all objects, in the order of the table.
func (r Result) Phases() []Phase { return []Phase{r.Scale, r.Rollout} }

// byReadiness separates the results with the soonest pods from those with pods that take longer until they are ready.
func byReadiness(results []Result) (prompt, late []Result) {
	for _, r := range results {
		if r.PodsReadyAfter == results[0].PodsReadyAfter {
			prompt = append(prompt, r)
		} else {
			late = append(late, r)
		}
	}
	return prompt, late
}

// WriteMarkdown writes the results as a table, and compares the subject that ours names with the aims.
func WriteMarkdown(w io.Writer, results []Result, ours string) error {
	prompt, _ := byReadiness(results)
	return table.Execute(w, map[string]any{"Results": prompt, "Changes": results, "Ours": ours, "Aims": Aims(results, ours), "Fits": Fits(results)})
}

// figure formats a value with as many decimals as it has, two at most.
func figure(value float64, unit string) string {
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", value), "0"), ".") + " " + unit)
}

// Aims compares a subject's results with the largest number of objects with the aims.
func Aims(results []Result, subject string) []bench.Aim {
	results, late := byReadiness(results)
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
		bench.NewAim("writes per object for another size, mean,"+of, most.Scale.WritesMean, scaleWritesLimit, ""),
		bench.NewAim("writes per object for another size, most,"+of, float64(most.Scale.WritesMax), scaleWritesLimit, ""),
	}
	for _, r := range results {
		switch {
		case r.Objects != most.Objects || r.Subject == subject:
		case r.Subject == floor:
			aims = append(aims,
				bench.NewAim("time to the floor's"+of, most.Available.Seconds()/r.Available.Seconds(), timeLimit, ""),
				bench.NewAim("time for another size to the floor's"+of, most.Scale.Time.Seconds()/r.Scale.Time.Seconds(), scaleTimeLimit, ""),
				bench.NewAim("time for a rollout to the floor's"+of, most.Rollout.Time.Seconds()/r.Rollout.Time.Seconds(), timeLimit, ""))
		default:
			aims = append(aims,
				bench.NewAim("CPU time to the "+r.Subject+"'s"+of, most.CPU.Seconds()/r.CPU.Seconds(), cpuLimit, ""),
				bench.NewAim("peak memory to the "+r.Subject+"'s"+of, most.PeakMemory/r.PeakMemory, 1, ""))
		}
	}
	for _, own := range late {
		for _, r := range late {
			if own.Subject == subject && r.Objects == own.Objects && r.Subject != subject && r.operator() {
				aims = append(aims, bench.NewAim(fmt.Sprintf("time for another size to the %s's with %d objects, pods ready after %s",
					r.Subject, r.Objects, r.PodsReadyAfter), own.Scale.Time.Seconds()/r.Scale.Time.Seconds(), 1, ""))
			}
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
