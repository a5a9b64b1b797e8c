package bench

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const kindTable = `The testbed's kind cluster against kind alone, taking turns: 3 runs of each, warm-up not counted
linux/amd64, 4 CPUs, nodes of kindest/node

                                                            min   median      max
kind create cluster --wait                                19000    20000    30000  ms
make up CLUSTER=kind: nodes, CoreDNS and storage ready    22000    25000    27000  ms
make docker-build, compiled before                         3000     6000     9000  ms
the operator's image                                         52       52       52  MiB
make node-image, nothing to do                              400      500      600  ms

ready, ours to kind's (medians)   1.25      aim: at most 1.50      met
make docker-build (median)        6000 ms   aim: at most 5000 ms   missed by 1000 ms (20 %)
the operator's image              52 MiB    aim: at most 60 MiB    met
make node-image again (median)    500 ms    aim: at most 3000 ms   met
`

func TestKindReport(t *testing.T) {
	samples := kindSamples{
		bare: []float64{30000, 19000, 20000}, ready: []float64{22000, 27000, 25000},
		dockerBuild: []float64{9000, 3000, 6000}, size: []float64{52.1}, nodeImage: []float64{400, 500, 600},
	}
	table := func() string {
		var text strings.Builder
		if err := samples.report("linux/amd64, 4 CPUs, nodes of kindest/node").WriteTable(&text); err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	if diff := cmp.Diff(kindTable, table()); diff != "" {
		t.Errorf("the table differs (-want +got):\n%s", diff)
	}
	// An image that was named was not made.
	samples.nodeImage = nil
	if text := table(); strings.Contains(text, "node-image") {
		t.Errorf("the table has what was not measured:\n%s", text)
	}
}

func TestMebibytes(t *testing.T) {
	if got, err := mebibytes("54525952"); got != 52 || err != nil {
		t.Errorf("52 MiB are %v, %v", got, err)
	}
	if _, err := mebibytes("<no value>"); err == nil || err.Error() != `measure the operator's image: Docker said its size is "<no value>"` {
		t.Errorf("no size is %v", err)
	}
}

func TestLastLine(t *testing.T) {
	shell := func(script string) (string, error) {
		return lastLine(t.Context(), exec.CommandContext(t.Context(), "sh", "-c", script))
	}
	if got, err := shell("echo one; echo two; echo said >&2"); got != "two" || err != nil {
		t.Errorf("it is %q, %v", got, err)
	}
	for script, why := range map[string]string{
		"echo why >&2; echo 'make: *** [x] Error 1' >&2; exit 1": "why",
		"exit 3": "exit status 3",
	} {
		if _, err := shell(script); err == nil || !strings.HasSuffix(err.Error(), ": "+why) {
			t.Errorf("%s: %v", script, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if _, err := lastLine(ctx, exec.CommandContext(ctx, "sh", "-c", "echo one")); !errors.Is(err, enough) {
		t.Errorf("after the end: %v", err)
	}
}
