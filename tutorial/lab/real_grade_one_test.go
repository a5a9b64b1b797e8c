package lab

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

// TestGradeOneForReal grades one submission at a time, on real clusters: what is right, what crashes, what does not compile, and where
// the grader itself fails or is ended.
func TestGradeOneForReal(t *testing.T) {
	tier.Nightly(t)
	p := newProgram(t)
	const stage = "03-controller"
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
	arguments := func(dir string) []string {
		return []string{
			"grade-one", "--stage=" + stage, "--submission=" + dir, "--out=" + results,
			"--calibration=" + filepath.Join(work, "calibration.json"),
		}
	}
	grade := func(dir string) map[string]any {
		t.Helper()
		p.does(arguments(dir)...)
		text, err := os.ReadFile(results)
		p.Expect(err).NotTo(HaveOccurred())
		var result map[string]any
		p.Expect(json.Unmarshal(text, &result)).To(Succeed())
		return result
	}
	all := func(field string, value any) types.GomegaMatcher { return HaveEach(HaveKeyWithValue(field, value)) }
	p.Expect(grade(right)).To(And(HaveKeyWithValue("status", "graded"), HaveKeyWithValue("score", 5.0), HaveKeyWithValue("max_score", 5.0),
		HaveKeyWithValue("tests", And(HaveLen(5), all("status", "pass"), all("score", 1.0), all("max_score", 1.0)))))

	// An operator that crashes has a result, with a reason for each feature.
	p.Expect(grade(crashes)).To(And(HaveKeyWithValue("status", "graded"), HaveKeyWithValue("score", 0.0),
		HaveKeyWithValue("tests", And(HaveLen(5), all("status", "fail"), HaveEach(HaveKeyWithValue("message", ContainSubstring("did not start")))))))
	p.Expect(grade(broken)).To(And(HaveKeyWithValue("status", "not_gradable"), HaveKeyWithValue("score", 0.0),
		HaveKeyWithValue("message", ContainSubstring("cmd/more.go:3"))))

	// Where the grader fails, the result says so, and has no score. Where it is ended, nothing is there that could be taken for one.
	p.Expect(os.WriteFile(filepath.Join(work, "calibration.json"), []byte("half a fi"), 0o600)).To(Succeed())
	p.Expect(os.WriteFile(results, []byte("of the one before"), 0o600)).To(Succeed())
	exit, out := p.run(arguments(right)...)
	p.Expect(exit).To(Equal(2), "%s", out)
	p.Expect(out).To(MatchRegexp(`^testbed: read the calibration [^\n]*\n$`))
	p.Expect(os.ReadFile(results)).To(ContainSubstring(`"status": "grader_error"`))

	p.Expect(os.WriteFile(results, []byte("of the one before"), 0o600)).To(Succeed())
	p.Expect(os.Remove(filepath.Join(work, "calibration.json"))).To(Succeed())
	s := p.start(arguments(right)...)
	for begin := time.Now(); time.Since(begin) < 5*time.Minute; <-time.After(10 * time.Millisecond) { // until it has begun
		if _, err := os.Stat(results); err != nil {
			break
		}
	}
	p.Expect(s.command.Process.Kill()).To(Succeed())
	p.Expect(s.wait()).NotTo(Succeed())
	p.Expect(results).NotTo(BeAnExistingFile(), "nobody must take the result of the one before for this one's")
}
