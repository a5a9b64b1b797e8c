package lab

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/grade/batch"
)

// TestSolutions grades each chapter's own solution behind both walls. All of them have full scores.
func TestSolutions(t *testing.T) {
	tier.Nightly(t)
	p := newProgram(t)
	chapters, err := chapter.ReadAll(filepath.Join(repository, "tutorial"))
	p.Expect(err).NotTo(HaveOccurred())
	work := t.TempDir()
	for _, c := range chapters {
		submission, result := filepath.Join(work, c.Name), filepath.Join(work, c.Name+".json")
		p.does("solution", "--stage="+c.Name, "--dir="+submission)
		_, out := p.run("grade-one", "--stage="+c.Name, "--submission="+submission, "--out="+result)
		r, err := batch.Read(result)
		t.Logf("%s, after %d s: %s", c.Name, r.Volatile.TookMS/1000, out)
		if err != nil || r.Score == 0 || r.Score < r.MaxScore || r.Isolation.Outer == "none" || r.Isolation.Inner == "none" {
			t.Errorf("%s: want a full score behind both walls: %+v %v", c.Name, r, err)
		}
	}
}
