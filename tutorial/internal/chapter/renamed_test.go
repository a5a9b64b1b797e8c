package chapter_test

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
)

func TestRenamed(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	g.Expect(chapter.Renamed(root, "07-first")).To(BeEmpty(), "without a list")
	write(t, filepath.Join(root, "docs", "moved.yaml"), "docs/a.md: docs/b.md\ntutorial/07-first/README.md: tutorial/08-first/README.md\n"+
		"tutorial/tools/chart/README.md: tutorial/09-tools/chart/README.md\n")
	for former, renamed := range map[string]string{"07-first": "08-first", "tools/chart": "09-tools/chart", "08-first": "", "": "", "../docs/a.md": ""} {
		g.Expect(chapter.Renamed(root, former)).To(Equal(renamed), former)
	}
	g.Expect(chapter.RenamedError(root, "08-first")).To(Succeed())
	_, err := chapter.Read(filepath.Join(root, "tutorial", "07-first"))
	g.Expect(err).To(MatchError("STAGE=07-first is now 08-first"))
}
