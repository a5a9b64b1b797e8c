package bench

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const kindTable = `A kind cluster
linux/amd64, 4 CPUs, nodes of kindest/node

                                                            min   median      max
kind create cluster --wait                                19000    20000    30000  ms
make up CLUSTER=kind: nodes, CoreDNS and storage ready    22000    25000    27000  ms

ready, ours to kind's (medians)   1.25   aim: at most 1.50   met
`

func TestKindReport(t *testing.T) {
	report := Report{Title: "A kind cluster", Machine: "linux/amd64, 4 CPUs, nodes of kindest/node"}
	for _, s := range []sample{
		{bareKind, "ms", 30000}, {ourKind, "ms", 22000}, {bareKind, "ms", 19000}, {ourKind, "ms", 27000},
		{bareKind, "ms", 20000}, {ourKind, "ms", 25000},
	} {
		report.add(s)
	}
	report.holdKind()
	var text strings.Builder
	if err := report.WriteTable(&text); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kindTable, text.String()); diff != "" {
		t.Errorf("the table differs (-want +got):\n%s", diff)
	}
}
