package framework

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/framework/runner"
)

// Only an operator that the suite has built itself, or that is said to be trusted, is not confined.
func TestConfinement(t *testing.T) {
	for name, tc := range map[string]struct {
		operator, confine string
		own               bool
		want              runner.Confinement
		err               string
	}{
		"built by the suite":          {own: true},
		"built by the suite, with it": {confine: `{"memory":1}`, own: true},
		"an executable":               {operator: "/bin/manager", want: runner.Confinement{Optional: true, DeclaredPorts: true}},
		"one that is trusted":         {operator: "/bin/manager", confine: "no", own: true},
		"with limits":                 {operator: "/bin/manager", confine: `{"memory":1,"fileSize":2}`, want: runner.Confinement{Memory: 1, FileSize: 2}},
		"a limit that is unknown":     {operator: "/bin/manager", confine: `{"memroy":1}`, err: `invalid TESTBED_CONFINE "{\"memroy\":1}"`},
		"nonsense":                    {operator: "/bin/manager", confine: "off", err: `invalid TESTBED_CONFINE "off": want "no", or limits`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			t.Setenv("OPERATOR", tc.operator)
			t.Setenv("TESTBED_CONFINE", tc.confine)
			own, got, err := confinement()
			if tc.err != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.err)))
				g.Expect(own).To(BeFalse())
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(own).To(Equal(tc.own))
			g.Expect(got).To(Equal(tc.want))
		})
	}
}
