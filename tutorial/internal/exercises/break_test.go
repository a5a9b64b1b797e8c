package exercises_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/mutant"
	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/e2e/tier/summary"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
)

// faultName is what a break-it lab may be called.
var faultName = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)

// mutantOf returns the mutant of a break-it lab.
func mutantOf(t *testing.T, fault exercises.Fault) mutant.Mutant {
	t.Helper()
	mutants, err := mutant.Read(filepath.Join(root, chapterOf(t, fault).SuiteDirectory(), "mutants"))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(mutants, func(m mutant.Mutant) bool { return m.Name == fault.Mutant })
	if i < 0 {
		t.Fatalf("the lab %s breaks with %s, which %s does not have", fault.Name, fault.Mutant, fault.Chapter)
	}
	return mutants[i]
}

// chapterOf returns the chapter of a break-it lab.
func chapterOf(t *testing.T, fault exercises.Fault) chapter.Chapter {
	t.Helper()
	c, err := chapter.Read(filepath.Join(root, "tutorial", fault.Chapter))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Each break-it lab is described by what a user sees, and has everything that its learner needs.
func TestFaults(t *testing.T) {
	g := NewWithT(t)
	faults, err := exercises.Faults(root)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(faults)).To(BeNumerically(">=", 25))
	names, mutants := map[string]bool{}, map[string]bool{}
	for _, fault := range faults {
		m := mutantOf(t, fault)
		g.Expect(fault.Name).To(MatchRegexp(faultName.String()))
		g.Expect(fault.Name).NotTo(Equal(m.Name), "the name of the mutant gives it away")
		g.Expect(names[fault.Name]).To(BeFalse(), "two labs are called %s", fault.Name)
		g.Expect(mutants[m.Path]).To(BeFalse(), "two labs break with %s", m.Path)
		names[fault.Name], mutants[m.Path] = true, true
		g.Expect(fault.Symptom).To(And(HaveSuffix("."), Not(ContainSubstring(m.Fault)), Not(ContainSubstring(m.Assertion))), fault.Name)
		g.Expect(len(fault.Symptom)).To(BeNumerically("<=", 130), "%s: a symptom is one line", fault.Name)
		g.Expect(fault.Point).To(HaveSuffix("."), fault.Name)
		g.Expect(fault.Others).NotTo(BeEmpty(), fault.Name)
		for _, hint := range fault.Hints {
			g.Expect(hint).NotTo(BeEmpty(), fault.Name)
		}
		c := chapterOf(t, fault)
		g.Expect(c.BuildsOn+c.Operator).NotTo(BeEmpty(), "%s: make solution has no copy of %s", fault.Name, fault.Chapter)
	}
}

// What a break-it lab breaks can still be read: whether it compiles, and that the chapter's suite notices, is shown by the mutants.
func TestFaultsApply(t *testing.T) {
	faults, err := exercises.Faults(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Run(fault.Name, func(t *testing.T) {
			t.Parallel()
			tier.Proves(t, summary.Lab, 1)
			g := NewWithT(t)
			m := mutantOf(t, fault)
			broken, err := m.Apply(t.Context(), root, chapterOf(t, fault).OperatorDirectory()+"/config", t.TempDir())
			g.Expect(err).NotTo(HaveOccurred())
			for _, file := range m.Files {
				text, err := os.ReadFile(filepath.Join(broken.Tree, file))
				g.Expect(err).NotTo(HaveOccurred())
				sound, err := os.ReadFile(filepath.Join(root, file))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(string(text)).NotTo(Equal(string(sound)))
				if strings.HasSuffix(file, ".go") {
					_, err = parser.ParseFile(token.NewFileSet(), file, text, 0)
				} else {
					err = yaml.Unmarshal(text, &map[string]any{})
				}
				g.Expect(err).NotTo(HaveOccurred())
			}
		})
	}
}

// A copy is the chapter's operator except for the broken files, and neither the copy nor the output names the fault.
func TestBreakTellsTheSymptomOnly(t *testing.T) {
	for name, differ := range map[string][]string{
		"no-answer":    {".lab", "config/rbac/role.yaml"},
		"last-one-out": {".lab", "config/rbac/role.yaml", "internal/controller/memcached_controller.go"}, // of the finished operator
	} {
		t.Run(name, func(t *testing.T) { tellsTheSymptomOnly(t, faultOf(t, name), differ) })
	}
}

// tellsTheSymptomOnly expects the copy of a break-it lab to differ from the chapter's operator in these files.
func tellsTheSymptomOnly(t *testing.T, fault exercises.Fault, files []string) {
	t.Helper()
	g := NewWithT(t)
	m := mutantOf(t, fault)
	dir, sound := filepath.Join(t.TempDir(), "broken"), filepath.Join(t.TempDir(), "sound")
	var out bytes.Buffer
	g.Expect(exercises.Break(t.Context(), root, fault.Name, dir, &out)).To(Succeed())
	g.Expect(out.String()).To(And(
		ContainSubstring("the operator of "+fault.Chapter+", with one fault in it.\n\n"+fault.Symptom+"\n"),
		ContainSubstring("make check DIR="+dir),
		Not(ContainSubstring(m.Name)), Not(ContainSubstring(m.Fault)), Not(ContainSubstring(fault.Point)),
	))
	g.Expect(exercises.Solution(t.Context(), root, fault.Chapter, sound, &out)).To(Succeed())
	var differ []string
	g.Expect(filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).NotTo(Or(ContainSubstring(m.Name), ContainSubstring(m.Fault)), path)
		file, err := filepath.Rel(dir, path)
		g.Expect(err).NotTo(HaveOccurred())
		if other, err := os.ReadFile(filepath.Join(sound, file)); err != nil || !bytes.Equal(text, other) {
			differ = append(differ, filepath.ToSlash(file))
		}
		return nil
	})).To(Succeed())
	g.Expect(differ).To(ConsistOf(files))
}

func TestBreakRefuses(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine.go")
	g.Expect(os.WriteFile(mine, []byte("package mine\n"), 0o600)).To(Succeed())
	var out bytes.Buffer
	g.Expect(exercises.Break(t.Context(), root, "", dir, &out)).To(Succeed())
	g.Expect(out.String()).To(ContainSubstring("  left-behind          03  You delete a Memcached, but its Deployment and its pods remain."))
	out.Reset()
	g.Expect(exercises.Break(t.Context(), root, "no-such", dir, &out)).To(MatchError("there is no LAB=no-such: use one of those in the list"))
	g.Expect(out.String()).To(ContainSubstring("  left-behind  "))
	g.Expect(exercises.Break(t.Context(), root, "left-behind", "", &out)).To(MatchError("name a new directory for the copy: DIR=directory"))
	g.Expect(exercises.Break(t.Context(), root, "left-behind", dir, &out)).To(MatchError(ContainSubstring("name a new or empty directory")))
	g.Expect(os.ReadDir(dir)).To(HaveLen(1))
}

func TestHintsAboutAFault(t *testing.T) {
	g := NewWithT(t)
	fault := faultOf(t, "left-behind")
	dir := copyOf(t, fault.Chapter)
	g.Expect(os.WriteFile(filepath.Join(dir, ".lab"), []byte(fault.Name+"\n"), 0o600)).To(Succeed())
	var out bytes.Buffer
	for _, last := range fault.Hints {
		out.Reset()
		g.Expect(exercises.Hint(root, dir, 0, 0, &out)).To(Succeed())
		g.Expect(out.String()).To(And(HavePrefix(fault.Symptom), HaveSuffix(last+"\n")))
	}
	g.Expect(exercises.Hint(root, dir, 0, 0, &out)).To(Succeed())
	g.Expect(out.String()).To(ContainSubstring("That was the last hint. make solution STAGE=03-controller"))
	g.Expect(exercises.Hint(root, dir, 0, 1, &out)).To(MatchError(ContainSubstring("which has no EXERCISE=1")))
}

func TestResetBreaksAgain(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "broken")
	role := filepath.Join(dir, "config", "rbac", "role.yaml")
	var out bytes.Buffer
	g.Expect(exercises.Break(t.Context(), root, "no-answer", dir, &out)).To(Succeed())
	broken, err := os.ReadFile(role)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(role, []byte("{}\n"), 0o600)).To(Succeed())
	out.Reset()
	g.Expect(exercises.Reset(t.Context(), root, dir, &out)).To(Succeed())
	g.Expect(out.String()).To(Equal(dir + " contains the broken operator of 03-controller again. Your previous version is in " + dir + ".before-1.\n"))
	g.Expect(os.ReadFile(role)).To(Equal(broken))
	g.Expect(filepath.Join(dir, ".lab")).To(BeAnExistingFile())
}

// The whole way: a copy that make check finds broken until the fault is undone.
func TestHeal(t *testing.T) {
	tier.All(t)
	tier.NeedsEmbedded(t)
	t.Parallel()
	g := NewWithT(t)
	cluster := takeCluster(t)
	fault := faultOf(t, "left-behind")
	dir, sound := filepath.Join(t.TempDir(), "broken"), filepath.Join(t.TempDir(), "sound")
	var out bytes.Buffer
	g.Expect(exercises.Break(t.Context(), root, fault.Name, dir, &out)).To(Succeed())
	_, err := checkCopy(t, dir, mutantOf(t, fault).Test, &out, cluster)
	g.Expect(err).To(MatchError("not yet: 0 of 1 feature holds"))
	g.Expect(out.String()).To(And(ContainSubstring(" does not hold: "), Not(ContainSubstring("hint:")), Not(ContainSubstring(fault.Point))))

	g.Expect(exercises.Solution(t.Context(), root, fault.Chapter, sound, &out)).To(Succeed())
	for _, file := range mutantOf(t, fault).Files {
		file = strings.TrimPrefix(file, "tutorial/"+fault.Chapter+"/")
		text, err := os.ReadFile(filepath.Join(sound, file))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(filepath.Join(dir, file), text, 0o600)).To(Succeed())
	}
	_, err = checkCopy(t, dir, "", &out, cluster)
	g.Expect(err).NotTo(HaveOccurred(), out.String())
	g.Expect(out.String()).To(HaveSuffix("Fixed. " + fault.Point + "\nReal projects with the same bug:\n  https://github.com/netbox-community/netbox-operator/issues/22\n  https://github.com/wildfly/wildfly-operator/issues/32\n"))
}

// faultOf returns the break-it lab of that name.
func faultOf(t *testing.T, name string) exercises.Fault {
	t.Helper()
	faults, err := exercises.Faults(root)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(faults, func(f exercises.Fault) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("there is no break-it lab %s", name)
	}
	return faults[i]
}
