package exercises_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
)

// copyOf is a copy as make start makes one, without what takes long to make.
func copyOf(t *testing.T, stage string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".stage"), []byte(stage+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestHintsGiveAwayMoreEachTime(t *testing.T) {
	g := NewWithT(t)
	dir := copyOf(t, "03-controller")
	hint := func(exercise int) string {
		var out bytes.Buffer
		g.Expect(exercises.Hint(root, dir, 0, exercise, &out)).To(Succeed())
		return out.String()
	}
	for task := range 4 {
		for range chapter.Steps {
			g.Expect(hint(0)).To(HavePrefix(fmt.Sprintf("Task %d of 03-controller: ", task+1)))
		}
	}
	g.Expect(hint(0)).To(And(ContainSubstring("Exercise 1 of 03-controller: Change it. Limit memcached"), ContainSubstring("Hint 1 of 3"), Not(ContainSubstring("Hint 2"))))
	g.Expect(hint(0)).To(And(ContainSubstring("Hint 1 of 3"), ContainSubstring("Hint 2 of 3"), Not(ContainSubstring("Hint 3"))))
	g.Expect(hint(0)).To(And(ContainSubstring("Hint 3 of 3"), Not(ContainSubstring("That was the last hint"))))
	g.Expect(hint(0)).To(And(ContainSubstring("Exercise 2 of"), ContainSubstring("Hint 1 of 3")))
	g.Expect(hint(1)).To(And(ContainSubstring("Hint 3 of 3"), ContainSubstring("That was the last hint. make solution STAGE=03-controller")))
}

// The last hint about a task is how the chapter does it, as a learner can type it: with the imports, and in the names of the copy.
func TestLastHintAboutATask(t *testing.T) {
	g := NewWithT(t)
	dir := copyOf(t, "03-controller")
	hint := func(task int) string {
		var out bytes.Buffer
		g.Expect(exercises.Hint(root, dir, task, 0, &out)).To(Succeed())
		return out.String()
	}
	g.Expect(hint(4)).To(And(ContainSubstring("(internal/controller/memcached_controller.go)"), ContainSubstring("Hint 1 of 3"), Not(ContainSubstring("Hint 2"))))
	g.Expect(hint(4)).NotTo(ContainSubstring("Owns("))
	g.Expect(hint(4)).To(And(
		ContainSubstring("\tappsv1 \"k8s.io/api/apps/v1\"\n"),
		ContainSubstring("\tcachev1alpha1 \"example.com/memcached-operator/api/v1alpha1\"\n"),
		ContainSubstring("\n\t\tOwns(&appsv1.Deployment{}).\n"),
	))
	g.Expect(hint(1)).To(HavePrefix("Task 1 of "))
	for _, task := range []int{-1, 5} {
		g.Expect(exercises.Hint(root, dir, task, 0, &bytes.Buffer{})).To(MatchError(ContainSubstring("use a number from 1 to 4")))
	}
}

// The commands in hints name the learner's copy, not the one of the text.
func TestHintsNameTheCopy(t *testing.T) {
	g := NewWithT(t)
	dir := copyOf(t, "02-api")
	var out bytes.Buffer
	for range chapter.Steps {
		out.Reset()
		g.Expect(exercises.Hint(root, dir, 3, 0, &out)).To(Succeed())
	}
	g.Expect(out.String()).To(And(ContainSubstring("make generate manifests DIR="+dir+".\n"), Not(ContainSubstring("my-api"))))
}

// Chapters that begin with nothing have exercises, too.
func TestHintWithoutACopy(t *testing.T) {
	g := NewWithT(t)
	memory := filepath.Join(t.TempDir(), "hints")
	var out bytes.Buffer
	for range 4 {
		out.Reset()
		g.Expect(exercises.HintAbout(root, "00-control-loop", memory, 2, &out)).To(Succeed())
	}
	g.Expect(out.String()).To(And(HavePrefix("Exercise 2 of 00-control-loop: Break it. Scale the ReplicaSet"), ContainSubstring("Hint 3 of 3"), HaveSuffix("That was the last hint.\n")))
	out.Reset()
	g.Expect(exercises.HintAbout(root, "01-custom-resource", memory, 0, &out)).To(Succeed())
	g.Expect(out.String()).To(And(HavePrefix("Exercise 1 of 01-custom-resource"), ContainSubstring("Hint 1 of 3"), Not(ContainSubstring("Hint 2 of 3"))))
	g.Expect(exercises.HintAbout(root, "99-nothing", memory, 0, &out)).To(MatchError(HavePrefix("there is no STAGE=99-nothing: use one of quickstart, 00-control-loop, ")))
}

func TestHintRefuses(t *testing.T) {
	g := NewWithT(t)
	dir := copyOf(t, "03-controller")
	for _, exercise := range []int{-1, 4} {
		g.Expect(exercises.Hint(root, dir, 0, exercise, &bytes.Buffer{})).To(MatchError(HaveSuffix("use a number from 1 to 3")))
	}
	g.Expect(exercises.Hint(root, dir, 9, 0, &bytes.Buffer{})).To(MatchError(MatchRegexp("has no TASK=9: use a number from 1 to [0-9]$")))
	g.Expect(exercises.Hint(root, t.TempDir(), 0, 0, &bytes.Buffer{})).To(MatchError(ContainSubstring("was not made by make start")))
	g.Expect(os.WriteFile(filepath.Join(dir, ".hints"), []byte("many"), 0o600)).To(Succeed())
	g.Expect(exercises.Hint(root, dir, 0, 0, &bytes.Buffer{})).To(MatchError(ContainSubstring("delete it to start with the first hint")))
}

func TestResetKeepsWhatWasThere(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "mine")
	var out bytes.Buffer
	g.Expect(exercises.Start(t.Context(), root, "04-status", dir, &out)).To(Succeed())
	begun, err := os.ReadDir(dir)
	g.Expect(err).NotTo(HaveOccurred())
	mine := filepath.Join(dir, "mine.go")
	for _, kept := range []string{dir + ".before-1", dir + ".before-2"} {
		g.Expect(os.WriteFile(mine, []byte("package mine\n"), 0o600)).To(Succeed())
		out.Reset()
		g.Expect(exercises.Reset(t.Context(), root, dir, &out)).To(Succeed())
		g.Expect(out.String()).To(Equal(dir + " contains the operator of 03-controller again. Your previous version is in " + kept + ".\n"))
		g.Expect(filepath.Join(kept, "mine.go")).To(BeAnExistingFile())
		g.Expect(os.ReadDir(dir)).To(HaveLen(len(begun)))
	}
}

// What a learner has done, and whose copy it is, does not start over.
func TestResetKeepsTheEvents(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "mine")
	g.Expect(exercises.Start(t.Context(), root, "04-status", dir, io.Discard)).To(Succeed())
	for _, file := range []string{".events", ".class", ".reported"} {
		g.Expect(os.WriteFile(filepath.Join(dir, file), []byte(file), 0o600)).To(Succeed())
	}
	g.Expect(exercises.Reset(t.Context(), root, dir, io.Discard)).To(Succeed())
	for _, file := range []string{".events", ".class", ".reported"} {
		g.Expect(os.ReadFile(filepath.Join(dir, file))).To(BeEquivalentTo(file))
	}
}

func TestResetLeavesAloneWhatIsNoCopy(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine.go")
	g.Expect(os.WriteFile(mine, []byte("package mine\n"), 0o600)).To(Succeed())
	g.Expect(exercises.Reset(t.Context(), root, dir, &bytes.Buffer{})).To(MatchError(ContainSubstring("was not made by make start")))
	g.Expect(os.WriteFile(filepath.Join(dir, ".stage"), []byte("99-nothing\n"), 0o600)).To(Succeed())
	g.Expect(exercises.Reset(t.Context(), root, dir, &bytes.Buffer{})).To(MatchError(ContainSubstring("there is no STAGE=99-nothing: use one of quickstart, 00-control-loop, ")))
	g.Expect(mine).To(BeAnExistingFile())
}

func TestSolution(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "solution")
	var out bytes.Buffer
	g.Expect(exercises.Solution(t.Context(), root, "03-controller", dir, &out)).To(Succeed())
	g.Expect(filepath.Join(dir, "internal", "controller", "memcached_controller.go")).To(BeAnExistingFile())
	g.Expect(exercises.Solution(t.Context(), root, "03-controller", dir, &out)).To(MatchError(ContainSubstring("name a new or empty directory")))
}

func TestDiff(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	g.Expect(exercises.Diff(t.Context(), root, "07-rbac", 0, &out)).To(Succeed())
	g.Expect(out.String()).To(And(
		ContainSubstring("diff --git 06-watches/config/rbac/role.yaml 07-rbac/config/rbac/role.yaml"),
		ContainSubstring("\n-  - get\n"),
		Not(ContainSubstring("cmd/main.go")), // which differs in the chapter's name alone
	))
	g.Expect(exercises.Diff(t.Context(), root, "", 0, &out)).To(MatchError(ContainSubstring("one of quickstart, 00-control-loop, ")))
	g.Expect(exercises.Diff(t.Context(), root, "01-custom-resource", 0, &out)).To(MatchError(ContainSubstring("builds on no other chapter")))

	out.Reset()
	g.Expect(exercises.Diff(t.Context(), root, "12-certificates", 2, &out)).To(Succeed())
	g.Expect(out.String()).To(And(ContainSubstring("internal/certificates/authority.go"), Not(ContainSubstring("internal/certificates/source.go"))))
	g.Expect(exercises.Diff(t.Context(), root, "12-certificates", 9, &out)).To(MatchError("12-certificates has no STEP=9: use a number from 1 to 4"))
	g.Expect(exercises.Diff(t.Context(), root, "04-status", 1, &out)).To(MatchError("04-status has no STEP=1: leave it out"))
}
