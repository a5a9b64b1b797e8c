package doctor_test

import (
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/doctor"
)

func TestReport(t *testing.T) {
	ok := doctor.Finding{Subject: "Go", Verdict: doctor.OK, Found: "go1.26.8"}
	warning := doctor.Finding{Subject: "open files", Verdict: doctor.Warning, Found: "10 for a process", Fix: "raise it"}
	lacking := doctor.Finding{Subject: "git", Verdict: doctor.Lacking, Found: "not on PATH", Fix: "install git"}
	for _, test := range []struct {
		name     string
		findings []doctor.Finding
		lacking  int
		want     string
	}{
		{"a warning is not lacking", []doctor.Finding{ok, warning}, 0, `
ok       Go          go1.26.8
warning  open files  10 for a process
                     fix: raise it
This machine has all that the testbed needs.
`},
		{"one", []doctor.Finding{ok, lacking}, 1, `
ok       Go   go1.26.8
lacking  git  not on PATH
              fix: install git
This machine lacks 1 thing that the testbed needs.
`},
		{"two", []doctor.Finding{lacking, lacking}, 2, `
lacking  git  not on PATH
              fix: install git
lacking  git  not on PATH
              fix: install git
This machine lacks 2 things that the testbed needs.
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			if got := doctor.Report(&out, test.findings); got != test.lacking {
				t.Errorf("Report = %d, want %d", got, test.lacking)
			}
			if want := strings.TrimPrefix(test.want, "\n"); out.String() != want {
				t.Errorf("written:\n%s\nwant:\n%s", out.String(), want)
			}
		})
	}
}
