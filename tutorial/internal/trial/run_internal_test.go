package trial

import (
	"fmt"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/tier"
)

// Each Tests stands for a run of the suite.
func TestOwnTestsAreCompiledOnce(t *testing.T) {
	tier.All(t)
	g, s := NewWithT(t), &framework.Scope{T: t}
	var first os.FileInfo
	for range 2 {
		own := New("../../..", "13-testing")
		own.PassAgain(t.Context(), s)
		own.Notice(t.Context(), s, "nodes-unsorted")
		now, err := os.Stat(own.executable)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(own.Close()).To(Succeed())
		if first == nil {
			first = now
		}
		g.Expect(os.SameFile(now, first)).To(BeTrue(), "expected %s to be linked once", own.executable)
	}
}

// numbered returns lines from one number to another.
func numbered(from, to int) string {
	var lines []string
	for i := from; i <= to; i++ {
		lines = append(lines, fmt.Sprintf("line %d", i))
	}
	return strings.Join(lines, "\n")
}

func TestExcerpt(t *testing.T) {
	for name, test := range map[string]struct{ output, want string }{
		"short":   {"--- FAIL: TestA (0.00s)\nFAIL\n", "--- FAIL: TestA (0.00s)\nFAIL"},
		"long":    {numbered(1, 30) + "\n", "(5 lines before)\n" + numbered(6, 30)},
		"a panic": {"--- FAIL: TestA (0.00s)\npanic: no map\n" + numbered(1, 3), "--- FAIL: TestA (0.00s)\npanic: no map\n" + numbered(1, 3)},
		"many stacks": {
			numbered(1, 40) + "\npanic: no map\n" + numbered(1, 50),
			"(39 lines before)\nline 40\npanic: no map\n" + numbered(1, 23) + "\n(27 lines after)",
		},
		"a test that hangs": {
			"=== line\npanic: test timed out after 2m0s\n\trunning tests:\n\t\tTestA (2m0s)\n\n" + numbered(1, 9),
			"=== line\npanic: test timed out after 2m0s\n\trunning tests:\n\t\tTestA (2m0s)\n(10 lines after)",
		},
		"a panic as it starts": {"panic: no map\n" + numbered(1, 2), "panic: no map\n" + numbered(1, 2)},
		"a long line":          {strings.Repeat("é", 200), strings.Repeat("é", 150) + "…"},
		"a letter cut in two":  {"a" + strings.Repeat("é", 200), "a" + strings.Repeat("é", 149) + "…"},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(excerpt(test.output)).To(Equal(test.want)) })
	}
}

func TestSummary(t *testing.T) {
	for name, test := range map[string]struct{ output, want string }{
		"one":      {"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/row (0.00s)\nFAIL\n", "TestA failed"},
		"two":      {"--- FAIL: TestA (0.00s)\n--- FAIL: TestB (0.00s)\n--- FAIL: TestA (0.00s)\nFAIL\n", "TestA, TestB failed"},
		"no name":  {"panic: init\n", "\npanic: init"},
		"no lines": {"(no output)", "\n(no output)"},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(summary(test.output)).To(Equal(test.want)) })
	}
}

func TestFailed(t *testing.T) {
	for name, test := range map[string]struct {
		output           string
		failed, timedOut bool
	}{
		"a test":                    {"--- FAIL: TestA (0.00s)\nFAIL\n", true, false},
		"whose line is left out":    {"much\n(1000 bytes left out)\nmuch\nFAIL\n", true, false},
		"a panic outside of a test": {"panic: init\n\ngoroutine 1 [running]:\n", false, false},
		"a test that hangs":         {"panic: test timed out after 2m0s\n\trunning tests:\n", false, true},
		"nothing":                   {"(no output)", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(failed(test.output)).To(Equal(test.failed))
			g.Expect(timedOut(test.output)).To(Equal(test.timedOut))
		})
	}
}
