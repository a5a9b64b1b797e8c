package exercises_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/host/home"
	"github.com/example/operator-testbed/e2e/reaper"
	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/check"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
)

const root = "../../.."

// TestMain keeps what is seen of failures apart, which are meant to be here, and throws it away unless a test fails, too.
func TestMain(m *testing.M) {
	supervisor.Main()
	reaper.Main()
	reaped := reaper.Begin()

	const variable = "TESTBED_ARTIFACTS"
	artifacts, err := filepath.Abs(cmp.Or(os.Getenv(variable), home.Temporary()))
	if err == nil {
		err = os.MkdirAll(artifacts, 0o755)
	}
	if err == nil {
		artifacts, err = os.MkdirTemp(artifacts, "lab-")
	}
	if err == nil {
		err = os.Setenv(variable, artifacts)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := destroyClusters(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if code == 0 {
		_ = os.RemoveAll(artifacts)
	}
	reaped.End()
	os.Exit(code)
}

// A suite passes if none of its features runs, so a misspelled feature is an error before it runs.
func TestCheckRefusesAnOnlyThatMatchesNothing(t *testing.T) {
	for only, want := range map[string]string{
		"TestFoo": "ONLY=TestFoo matches none of the features: use one of TestAvailable, ",
		"Test[":   "ONLY=Test[ is not a regular expression",
		"Node":    "has no directory cmd yet", // TestNodes is one
	} {
		t.Run(only, func(t *testing.T) {
			g := NewWithT(t)
			dir := t.TempDir()
			g.Expect(os.WriteFile(filepath.Join(dir, ".stage"), []byte("04-status\n"), 0o600)).To(Succeed())
			_, err := checkCopy(t, dir, only, io.Discard)
			g.Expect(err).To(MatchError(ContainSubstring(want)))
		})
	}
}

// A former name of a chapter is refused with the present one, and a copy that was made for it counts for the present one.
func TestFormerNames(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "mine")
	const former, refused = "04-controller", "STAGE=04-controller is now 03-controller"
	g.Expect(exercises.Start(t.Context(), root, former, dir, io.Discard)).To(MatchError(refused))
	g.Expect(exercises.HintAbout(root, former, dir, 1, io.Discard)).To(MatchError(refused))
	g.Expect(exercises.Eject(t.Context(), root, "operator-sdk/helm", dir, "", io.Discard)).To(MatchError("STAGE=operator-sdk/helm is now 18-operator-sdk/helm"))
	g.Expect(dir).NotTo(BeAnExistingFile())

	g.Expect(os.Mkdir(dir, 0o755)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(dir, ".stage"), []byte(former+"\n"), 0o600)).To(Succeed())
	stage, _, err := exercises.Of(root, dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stage).To(Equal("03-controller"))
}

// What is not a chapter has no copy to begin with, and none to end with.
func TestStartAndSolutionRefuse(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "mine")
	for stage, why := range map[string]string{"": "name the chapter, STAGE=quickstart or STAGE=NN-name: one of", "99-nothing": "there is no STAGE=99-nothing: use one of"} {
		refused := MatchError(HavePrefix(why + " quickstart, 00-control-loop, "))
		g.Expect(exercises.Start(t.Context(), root, stage, dir, &bytes.Buffer{})).To(refused)
		g.Expect(exercises.Solution(t.Context(), root, stage, dir, &bytes.Buffer{})).To(refused)
	}
	g.Expect(dir).NotTo(BeAnExistingFile())
	parent := t.TempDir()
	other := filepath.Join(parent, "other")
	g.Expect(os.Mkdir(other, 0o755)).To(Succeed())
	_, err := checkCopy(t, other, "", io.Discard)
	g.Expect(err).To(MatchError(other + " was not made by make start or make break: give the directory of a copy, which make start makes"))

	// A copy that exists is kept, and named where another one is looked for.
	copied := filepath.Join(parent, "mine")
	g.Expect(os.Mkdir(copied, 0o755)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(copied, ".stage"), []byte("03-controller\n"), 0o600)).To(Succeed())
	_, err = checkCopy(t, filepath.Join(parent, "nowhere"), "", io.Discard)
	g.Expect(err).To(MatchError("there is no directory " + parent + "/nowhere: give the directory of a copy, such as " + copied))
	for _, again := range []func() error{
		func() error { return exercises.Start(t.Context(), root, "03-controller", copied, io.Discard) },
		func() error { return exercises.Solution(t.Context(), root, "03-controller", copied, io.Discard) },
	} {
		g.Expect(again()).To(MatchError(copied + " is already a copy: continue with it, start over with make reset DIR=" + copied + ", or name a new or empty directory"))
	}
	// That of another chapter can't be continued with.
	for _, next := range []func(ctx context.Context, root, stage, dir string, out io.Writer) error{exercises.Start, exercises.Solution} {
		g.Expect(next(t.Context(), root, "04-status", copied, io.Discard)).To(MatchError(copied + " is already a copy, for 03-controller: name a new directory for 04-status"))
	}
}

// What is printed to be typed can be typed, whatever the directory is called.
func TestPrintedCommandsQuoteTheDirectory(t *testing.T) {
	g := NewWithT(t)
	parent := t.TempDir()
	for name, copies := range map[string]func(dir string, out io.Writer) error{
		"ann's copy": func(dir string, out io.Writer) error {
			return exercises.Start(t.Context(), root, "03-controller", dir, out)
		},
		"ann's solution": func(dir string, out io.Writer) error {
			return exercises.Solution(t.Context(), root, "03-controller", dir, out)
		},
		"ann's fault": func(dir string, out io.Writer) error {
			return exercises.Break(t.Context(), root, "left-behind", dir, out)
		},
	} {
		dir := filepath.Join(parent, name)
		var out bytes.Buffer
		g.Expect(copies(dir, &out)).To(Succeed())
		g.Expect(out.String()).To(MatchRegexp(`(DIR=|--no-index COPY )`+regexp.QuoteMeta("'"+parent+`/ann'\''s`)), out.String())
	}
}

func TestStartTellsTheGoal(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "mine")
	var out bytes.Buffer
	g.Expect(exercises.Start(t.Context(), root, "07-rbac", dir, &out)).To(Succeed())
	g.Expect(out.String()).To(And(
		HavePrefix(dir+" now contains the operator of 06-watches. Your goal: give an operator only the permissions"),
		ContainSubstring("\n  1. ask for no permission that the operator does not use (internal/controller/memcached_controller.go)\n"),
		ContainSubstring("make check DIR="+dir),
	))
	g.Expect(exercises.Start(t.Context(), root, "07-rbac", dir, &out)).To(MatchError(ContainSubstring("name a new or empty directory")))
}

// Where a chapter gives a learner everything but what it is about, the copy has it all, with a TODO for each part to write.
func TestStartLeavesGaps(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "mine")
	var out bytes.Buffer
	g.Expect(exercises.Start(t.Context(), root, "03-controller", dir, &out)).To(Succeed())
	g.Expect(out.String()).To(And(
		HavePrefix(dir+" now contains the start of 03-controller. Your goal: write a controller"),
		ContainSubstring("(internal/controller/deployment.go)\n"),
		ContainSubstring("make hint DIR="+dir),
	))
	for _, file := range []string{"cmd/main.go", "config/default/kustomization.yaml", "config/rbac/role.yaml"} {
		g.Expect(filepath.Join(dir, file)).To(BeAnExistingFile())
	}
	g.Expect(os.ReadFile(filepath.Join(dir, "internal", "controller", "memcached_controller.go"))).To(ContainSubstring("// TODO, Step 3: "))
	g.Expect(filepath.Join(dir, "start")).NotTo(BeAnExistingFile())

	out.Reset()
	g.Expect(exercises.Reset(t.Context(), root, dir, &out)).To(Succeed())
	g.Expect(out.String()).To(HavePrefix(dir + " contains the start of 03-controller again. "))
}

// A learner begins with something that compiles, and with something to do: what each chapter begins with fails the feature of its
// gaps, or those that its chapter.yaml lists, with the words that stand there.
func TestEachChapterBeginsRed(t *testing.T) {
	tier.All(t)
	eachToWrite(t, func(t *testing.T, g *WithT, c chapter.Chapter) {
		dir := filepath.Join(t.TempDir(), "mine")
		var out bytes.Buffer
		g.Expect(exercises.Start(t.Context(), root, c.Name, dir, &out)).To(Succeed())
		fails := c.Fails
		if gaps, ok, err := exercises.Gaps(root, c); ok || err != nil {
			g.Expect(err).NotTo(HaveOccurred())
			fails = map[string]string{gaps.Test: gaps.Assertion}
		}
		only := "^(" + strings.Join(slices.Sorted(maps.Keys(fails)), "|") + ")$"
		// What fails as it should need not wait any longer, as with mutants.
		expected := "TESTBED_EXPECTED=" + strings.Join(slices.Collect(maps.Values(fails)), "\n")
		results, err := checkCopy(t, dir, only, &out, takeCluster(t), expected)
		g.Expect(err).To(MatchError(&exercises.NotYetError{Score: check.ScoreOf(results)}), out.String())
		for feature, words := range fails {
			hint := strings.ReplaceAll(c.Features[feature].Hint, "DIR=my-operator", "DIR="+dir) // as TestHintsNameTheCopy says
			g.Expect(results).To(ContainElement(And(HaveField("Test", feature), HaveField("Outcome", framework.DoesNotHold),
				HaveField("Message", ContainSubstring(words)))))
			g.Expect(out.String()).To(And(ContainSubstring("\n"+feature+" does not hold: "+c.Features[feature].Claim),
				ContainSubstring("  artifacts: "+os.Getenv("TESTBED_ARTIFACTS")), ContainSubstring(hint)))
		}
	})
}

// checkCopy checks the copy in dir, or the features of it that only chooses.
func checkCopy(t *testing.T, dir, only string, out io.Writer, env ...string) ([]framework.Result, error) {
	t.Helper()
	return exercises.Check(t.Context(), exercises.CheckInput{Root: root, Dir: dir, Only: only, Out: out, Env: env})
}

// The last hints lead to the chapter's operator, whose suite passes in make test.
func TestLastHintsLeadToTheChapter(t *testing.T) {
	tier.All(t)
	eachToWrite(t, func(t *testing.T, g *WithT, c chapter.Chapter) {
		if len(c.Tasks) > 0 {
			mine, solution := filepath.Join(t.TempDir(), "mine"), filepath.Join(t.TempDir(), "mine")
			g.Expect(exercises.Start(t.Context(), root, c.Name, mine, io.Discard)).To(Succeed())
			typeIn(t, c, mine)
			g.Expect(exercises.Solution(t.Context(), root, c.Name, solution, io.Discard)).To(Succeed())
			g.Expect(program(t, mine, c.Tasks)).To(Equal(program(t, solution, c.Tasks)))
		}
	})
}

// A learner can get to the end. Where a chapter lists tasks, its page and its last hints are enough to do them. Where it lists
// none, what the chapter ends with passes all of its suite, as a copy, which is how a learner has it.
func TestEachChapterEndsGreen(t *testing.T) {
	tier.Nightly(t)
	eachToWrite(t, func(t *testing.T, g *WithT, c chapter.Chapter) {
		dir := filepath.Join(t.TempDir(), "mine")
		var out bytes.Buffer
		gaps, _, err := exercises.Gaps(root, c)
		g.Expect(err).NotTo(HaveOccurred())
		if len(c.Tasks) > 0 {
			g.Expect(exercises.Start(t.Context(), root, c.Name, dir, &out)).To(Succeed())
			typeIn(t, c, dir)
		} else {
			g.Expect(exercises.Solution(t.Context(), root, c.Name, dir, &out)).To(Succeed())
		}
		if c.Operator != "" { // whose whole suite runs elsewhere, and takes minutes
			_, err := checkCopy(t, dir, "^"+gaps.Test+"$", &out, takeCluster(t))
			g.Expect(err).NotTo(HaveOccurred(), out.String())
			g.Expect(out.String()).To(MatchRegexp(`\n1 of 1 feature holds\.\nONLY skipped \d+ other features?\. .+\n$`))
			return
		}
		results, err := checkCopy(t, dir, "", &out, takeCluster(t))
		g.Expect(err).NotTo(HaveOccurred(), out.String())
		g.Expect(results).To(HaveLen(len(c.Features)))
		score := check.ScoreOf(results)
		g.Expect(out.String()).To(HaveSuffix(fmt.Sprintf("\n%d of %[1]d features hold.\nWell done: this is what %s is about.\n", score.Of, c.Name)))
	})
}

// eachToWrite does something on behalf of each chapter.
func eachToWrite(t *testing.T, do func(t *testing.T, g *WithT, c chapter.Chapter)) {
	t.Helper()
	tier.NeedsEmbedded(t)
	t.Parallel() // or the chapters of one test would wait for the slowest of the other
	chapters, err := chapter.ReadAll(filepath.Join(root, "tutorial"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range chapters {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			do(t, NewWithT(t), c)
		})
	}
}

// What the hints say about an exercise is true of a copy: the right change passes the chapter's tests, and the wrong one fails the features
// that they name, and no other.
func TestExercisesComeOutAsTheirHintsSay(t *testing.T) {
	tier.All(t)
	tier.NeedsEmbedded(t)
	const watch, imported = "\t\tOwns(&appsv1.Deployment{}).\n", "\tappsv1 \"k8s.io/api/apps/v1\"\n"
	const forced, unforced = "fieldManager, client.ForceOwnership); err != nil {\n\t\treturn failure", "fieldManager); err != nil {\n\t\treturn failure"
	const read = "\tfrom := hub.(*cachev1beta1.Memcached)\n"
	const refused = read + "\tif from.Spec.Network.MaxConnections != nil {\n\t\treturn errors.New(\"v1alpha1 has no such field\")\n\t}\n"
	const tickets = "internal/controller/flightticket_controller.go"
	const kept = "\t\treturn nil // never booked, or already canceled"
	const canceled = "\t\tif ticket.Status.Booking != \"\" {\n\t\t\treturn r.report(ctx, ticket, ticket.Status.Booking, metav1.ConditionFalse, \"Canceled\", \"the flight was canceled\")\n\t\t}\n"
	const observed = "\tif deployment.Status.ObservedGeneration != deployment.Generation {\n\t\treturn false\n\t}\n"
	const counted = "return status.Replicas == size && status.UpdatedReplicas == size && status.AvailableReplicas == size"
	const column = "// +kubebuilder:printcolumn:name=\"Size\",type=integer,JSONPath=\".spec.size\"\n"
	for name, test := range map[string]struct {
		stage, file string
		changes     [][2]string
		fail        []string
		says        string
	}{
		"02-api, 1":        {"02-api", "api/v1alpha1/memcached_types.go", [][2]string{{column, column + "// +kubebuilder:printcolumn:name=\"Port\",type=integer,JSONPath=\".spec.containerPort\",priority=1\n"}}, nil, "Well done"},
		"03-controller, 1": {"03-controller", "internal/controller/deployment.go", [][2]string{{`WithArgs("-p", strconv.Itoa(int(port)))`, `WithArgs("-m", "64", "-p", strconv.Itoa(int(port)))`}}, nil, "Well done"},
		"03-controller, 2": {"03-controller", "internal/controller/memcached_controller.go", [][2]string{{watch, ""}, {imported, ""}}, []string{"TestRepair"}, "TestRepair does not hold"},
		"04-status, 2":     {"04-status", "internal/controller/status.go", [][2]string{{observed, ""}, {counted, "return status.AvailableReplicas == size"}}, []string{"TestProgressing"}, "TestProgressing does not hold"},
		"05-failures, 2":   {"05-failures", "internal/controller/status.go", [][2]string{{`"There is nothing to do."`, "time.Now().String()"}, {"\t\"slices\"\n", "\t\"slices\"\n\t\"time\"\n"}}, []string{"TestQuiet"}, "TestQuiet does not hold"},
		"10-finalizers, 1": {"10-finalizers", tickets, [][2]string{{kept, canceled + kept}}, nil, "Well done"},
		"quickstart, 1":    {"quickstart", "api/v1alpha1/memcached_types.go", [][2]string{{"Maximum=5", "Maximum=9"}}, nil, "Generated from older code: config/crd/bases/cache.example.com_memcacheds.yaml. "},
		"quickstart, 2":    {"quickstart", "internal/controller/memcached_controller.go", [][2]string{{watch, ""}, {imported, ""}}, []string{"TestRepair", "TestStatus"}, "TestStatus does not hold"},
		"14-references, 2": {"14-references", "internal/controller/children.go", [][2]string{{forced, unforced}}, []string{"TestChildren"}, "TestChildren does not hold"},
		"15-versions, 2":   {"15-versions", "api/v1alpha1/conversion.go", [][2]string{{read, refused}, {"import (\n", "import (\n\t\"errors\"\n"}}, []string{"TestBothVersions", "TestMigration", "TestRollback", "TestWebhookDown"}, "TestBothVersions does not hold"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			dir := filepath.Join(t.TempDir(), "mine")
			var out bytes.Buffer
			g.Expect(exercises.Solution(t.Context(), root, test.stage, dir, &out)).To(Succeed())
			file := filepath.Join(dir, test.file)
			for _, change := range test.changes {
				text, err := os.ReadFile(file)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(bytes.Count(text, []byte(change[0]))).To(Equal(1), change[0])
				g.Expect(os.WriteFile(file, bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1), 0o600)).To(Succeed())
			}
			target := "test"
			switch test.stage {
			case "02-api", // which has no unit tests, and an exercise that says to generate
				"04-status", "05-failures", "15-versions": // whose unit tests notice the fault, too
				target = "manifests"
			}
			command := exec.CommandContext(t.Context(), "make", target)
			command.Dir, command.Env = dir, withoutVariables(os.Environ(), "MAKE", "MFLAGS=")
			said, err := command.CombinedOutput()
			g.Expect(err).NotTo(HaveOccurred(), string(said))

			results, err := checkCopy(t, dir, "", &out, takeCluster(t))
			var failed []string
			for _, r := range results {
				if r.Failed {
					failed = append(failed, r.Test)
				}
			}
			g.Expect(failed).To(Equal(test.fail), "%v\n%s", err, &out)
			g.Expect(out.String()).To(ContainSubstring(test.says))
		})
	}
}
