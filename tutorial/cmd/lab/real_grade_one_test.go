package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/example/operator-testbed/e2e/tier"
)

// TestGradeOneForReal grades for other people's graders, on real clusters: what is right, what crashes, what does not compile, and where
// the grader itself fails or is ended.
func TestGradeOneForReal(t *testing.T) {
	tier.Nightly(t)
	p := newProgram(t)
	const stage = "04-controller"
	work := t.TempDir()
	submitted := func(name, file, text string) string {
		dir := filepath.Join(work, name)
		p.does("solution", "--stage="+stage, "--dir="+dir)
		if file != "" {
			p.Expect(os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600)).To(Succeed())
		}
		return dir
	}
	right := submitted("right", "", "")
	crashes := submitted("crashes", "cmd/crash.go", "package main\n\nfunc init() { panic(\"<b>crash</b>\") }\n")
	broken := submitted("broken", "cmd/more.go", "package main\n\nvar n int = \"one\"\n")
	results := filepath.Join(work, "results", "results.json")
	arguments := func(format, dir string) []string {
		return []string{
			"grade-one", "--stage=" + stage, "--submission=" + dir, "--format=" + format, "--out=" + results,
			"--calibration=" + filepath.Join(work, "calibration.json"),
		}
	}
	grade := func(format, dir string) map[string]any {
		t.Helper()
		p.does(arguments(format, dir)...)
		text, err := os.ReadFile(results)
		p.Expect(err).NotTo(HaveOccurred())
		var result map[string]any
		p.Expect(json.Unmarshal(text, &result)).To(Succeed())
		return result
	}
	all := func(field string, value any) types.GomegaMatcher { return HaveEach(HaveKeyWithValue(field, value)) }
	p.Expect(grade("gradescope", right)).To(And(HaveKeyWithValue("score", 5.0), HaveKeyWithValue("output_format", "text"),
		HaveKeyWithValue("tests", And(HaveLen(5), all("status", "passed"), all("score", 1.0), all("max_score", 1.0)))))
	p.Expect(grade("prairielearn", right)).To(And(HaveKeyWithValue("gradable", true), HaveKeyWithValue("score", 1.0),
		HaveKeyWithValue("tests", And(HaveLen(5), all("points", 1.0), all("max_points", 1.0)))))

	// An operator that crashes has a result, with a reason for each feature.
	p.Expect(grade("gradescope", crashes)).To(And(HaveKeyWithValue("score", 0.0),
		HaveKeyWithValue("tests", And(HaveLen(5), all("status", "failed"), HaveEach(HaveKeyWithValue("output", ContainSubstring("did not start")))))))
	p.Expect(grade("prairielearn", broken)).To(And(HaveKeyWithValue("gradable", false), Not(HaveKey("score")),
		HaveKeyWithValue("format_errors", ConsistOf(ContainSubstring("cmd/more.go:3")))))

	// Where the grader fails, or is ended, nothing is there that could be taken for a result.
	p.Expect(os.WriteFile(filepath.Join(work, "calibration.json"), []byte("half a fi"), 0o600)).To(Succeed())
	p.Expect(os.WriteFile(results, []byte("of the one before"), 0o600)).To(Succeed())
	exit, out := p.run(arguments("gradescope", right)...)
	p.Expect(exit).To(Equal(2), "%s", out)
	p.Expect(out).To(MatchRegexp(`^lab: the grader failed, so there is no grade to write: read the calibration [^\n]*\n$`))
	p.Expect(results).NotTo(BeAnExistingFile())

	p.Expect(os.WriteFile(results, []byte("of the one before"), 0o600)).To(Succeed())
	p.Expect(os.Remove(filepath.Join(work, "calibration.json"))).To(Succeed())
	s := p.start(arguments("prairielearn", right)...)
	for begin := time.Now(); time.Since(begin) < 5*time.Minute; <-time.After(10 * time.Millisecond) { // until it has begun
		if _, err := os.Stat(results); err != nil {
			break
		}
	}
	p.Expect(s.command.Process.Kill()).To(Succeed())
	p.Expect(s.wait()).NotTo(Succeed())
	p.Expect(results).NotTo(BeAnExistingFile(), "nobody must take the result of the one before for this one's")
}
