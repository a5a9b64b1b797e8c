package chapter_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
)

const sound = `title: The controller
outcome: write one
minutes: 20
runs: [process]
needs: embedded
track: build
`

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadAll(t *testing.T) {
	g := NewWithT(t)
	tutorial := t.TempDir()
	write(t, filepath.Join(tutorial, "02-api", chapter.File), sound)
	write(t, filepath.Join(tutorial, "03-controller", chapter.File), sound+"buildsOn: 02-api\nchanges: [cmd/]\n")
	write(t, filepath.Join(tutorial, "internal", "no-chapter.go"), "package internal\n")

	chapters, err := chapter.ReadAll(tutorial)

	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(chapters).To(HaveExactElements(HaveField("Name", "02-api"), chapter.Chapter{
		Name: "03-controller", Title: "The controller", Outcome: "write one", BuildsOn: "02-api", Changes: []string{"cmd/"}, Track: "build",
		Minutes: 20, Runs: []chapter.Way{chapter.RunsProcess}, Needs: chapter.NeedsEmbedded,
	}))
}

// A chapter without a number comes after the one that it names, or else the one that it builds on, and before all others if there is none.
func TestReadAllSorts(t *testing.T) {
	g := NewWithT(t)
	tutorial := t.TempDir()
	for name, text := range map[string]string{
		"02-api": sound, "03-controller": sound + "buildsOn: 02-api\n", "04-status": sound + "buildsOn: 03-controller\n",
		"quickstart": sound, "other-ways": sound + "buildsOn: 03-controller\n", "a-tool": sound + "after: 03-controller\n",
		"later": sound + "buildsOn: 02-api\nafter: 04-status\n", "and-then": sound + "after: later\n", "06-watches": sound,
	} {
		write(t, filepath.Join(tutorial, name, chapter.File), text)
	}
	chapters, err := chapter.ReadAll(tutorial)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(chapters).To(HaveExactElements(HaveField("Name", "quickstart"), HaveField("Name", "02-api"), HaveField("Name", "03-controller"),
		HaveField("Name", "a-tool"), HaveField("Name", "other-ways"), HaveField("Name", "04-status"), HaveField("Name", "later"),
		HaveField("Name", "and-then"), HaveField("Name", "06-watches")))
	g.Expect(chapters[0]).To(And(HaveField("Number()", ""), HaveField("Label()", "quickstart"), HaveField("Heading()", "The controller")))
	g.Expect(chapters[1]).To(And(HaveField("Number()", "02"), HaveField("Label()", "02"), HaveField("Heading()", "02 The controller")))
}

func TestReadAllRefuses(t *testing.T) {
	for name, test := range map[string]struct{ directory, text, why string }{
		"an unknown key":             {"03-controller", sound + "minuets: 20\n", `unknown field "minuets"`},
		"a key twice":                {"03-controller", sound + "minutes: 20\n", `"minutes" already set`},
		"a directory with one digit": {"4-controller", sound, "must be words, such as quickstart, or two digits and words"},
		"no title":                   {"03-controller", strings.Replace(sound, "title", "#", 1), "it has no title"},
		"no outcome":                 {"03-controller", strings.Replace(sound, "outcome", "#", 1), "it has no outcome"},
		"too short":                  {"03-controller", strings.Replace(sound, "20", "9", 1), "10 or more"},
		"an unknown way to run":      {"03-controller", strings.Replace(sound, "process", "thread", 1), `runs has "thread"`},
		"no way to run":              {"03-controller", strings.Replace(sound, "process", "", 1), "runs is empty"},
		"an unknown cluster":         {"03-controller", strings.Replace(sound, "embedded", "cloud", 1), `needs is "cloud"`},
		"two hints":                  {"03-controller", sound + "hints: [[look, think]]\n", "hints has 2 for exercise 1: it must have 3"},
		"changes of nothing":         {"03-controller", sound + "changes: [cmd/]\n", "not what it buildsOn"},
		"a later one":                {"03-controller", sound + "buildsOn: 04-status\n", "does not come before it"},
		"steps of nothing":           {"03-controller", sound + "steps: [{title: write, files: [cmd/]}]\n", "not what it buildsOn"},
		"changes and steps":          {"03-controller", sound + "buildsOn: 02-api\nchanges: [api/]\nsteps: [{title: write, files: [cmd/]}]\n", "changes, and steps"},
		"a step without files":       {"03-controller", sound + "buildsOn: 02-api\nsteps: [{title: write}]\n", "step 1 must have a title and files"},
		"after an unknown one":       {"a-tool", sound + "after: 02-api\n", "it comes after 02-api, which is not a chapter"},
		"after itself":               {"a-tool", sound + "after: a-tool\n", "it comes after a-tool, which is not a chapter"},
		"after a later one":          {"03-controller", sound + "after: 04-status\n", "it comes after 04-status, which does not come before it"},
		"an unknown track":           {"03-controller", strings.Replace(sound, "build", "sail", 1), `track is "sail": use one of build, `},
		"an unknown one":             {"03-controller", sound + "buildsOn: 02-api\n", "which is not a chapter"},
	} {
		t.Run(name, func(t *testing.T) {
			tutorial := t.TempDir()
			write(t, filepath.Join(tutorial, test.directory, chapter.File), test.text)
			_, err := chapter.ReadAll(tutorial)
			NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring(test.why), ContainSubstring(test.directory))))
		})
	}
	_, err := chapter.ReadAll(t.TempDir())
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("there are no chapters")))
}

func TestDifferences(t *testing.T) {
	g := NewWithT(t)
	tutorial := t.TempDir()
	for path, text := range map[string]string{
		"02-api/PROJECT":             "repo: tutorial/02-api\n",
		"02-api/api/types.go":        "package api\n",
		"02-api/api/gone.go":         "package api\n",
		"02-api/README.md":           "The API\n",
		"02-api/test/e2e/a_test.go":  "package e2e\n",
		"03-controller/PROJECT":      "repo: tutorial/03-controller\n",
		"03-controller/api/types.go": "package api // changed\n",
		"03-controller/cmd/main.go":  "package main\n",
		"03-controller/README.md":    "The controller\n",
		"03-controller/bin/manager":  "ELF",
	} {
		write(t, filepath.Join(tutorial, path), text)
	}
	before, err := chapter.Chapter{Name: "02-api"}.Code(tutorial)
	g.Expect(err).NotTo(HaveOccurred())
	after, err := chapter.Chapter{Name: "03-controller"}.Code(tutorial)
	g.Expect(err).NotTo(HaveOccurred())

	differences := chapter.Differences(before, after)

	g.Expect(differences).To(Equal([]string{"api/gone.go", "api/types.go", "cmd/main.go"}))
	c := chapter.Chapter{Name: "03-controller", BuildsOn: "02-api", Changes: []string{"api/types.go", "cmd/", "PROJECT"}}
	g.Expect(c.Wrong(differences)).To(ConsistOf(
		HavePrefix("03-controller differs from 02-api in api/gone.go: "),
		HavePrefix("03-controller lists the change of PROJECT, which is the same as in 02-api: "),
	))
}

// An operator that is elsewhere is compared like any other, and each difference is in one step.
func TestSteps(t *testing.T) {
	g := NewWithT(t)
	tutorial := filepath.Join(t.TempDir(), "tutorial")
	for path, text := range map[string]string{
		"12-certificates/internal/a.go":      "import \"operator-testbed/tutorial/12-certificates/api\" // operator\n",
		"12-certificates/internal/b.go":      "package internal\n",
		"../operator/internal/a.go":          "import \"operator-testbed/operator/api\" // operator\n",
		"../operator/internal/b.go":          "package internal // changed\n",
		"../operator/internal/b_test.go":     "package internal\n",
		"../operator/internal/c.go":          "package internal\n",
		"../operator/config/prometheus.yaml": "kind: ServiceMonitor\n",
	} {
		write(t, filepath.Join(tutorial, path), text)
	}
	before, err := chapter.Chapter{Name: "12-certificates"}.Code(tutorial)
	g.Expect(err).NotTo(HaveOccurred())
	c := chapter.Chapter{Name: "19-finished", BuildsOn: "12-certificates", Operator: "operator", Steps: []chapter.Step{
		{Title: "first", Files: []string{"internal/b*.go", "config/"}},
		{Title: "second", Files: []string{"internal/c.go"}},
	}}
	after, err := c.Code(tutorial)
	g.Expect(err).NotTo(HaveOccurred())
	differences := chapter.Differences(before, after)

	g.Expect(c.Wrong(differences)).To(BeEmpty())
	c.Steps[0].Files = []string{"internal/b.go", "internal/c.go", "config/", "cmd/"}
	g.Expect(c.Wrong(differences)).To(ConsistOf(
		HavePrefix("19-finished differs from 12-certificates in internal/b_test.go: "),
		HavePrefix(`19-finished has internal/c.go in the steps ["first" "second"] of its chapter.yaml: `),
		HavePrefix("19-finished lists the change of cmd, which is the same as in 12-certificates: "),
	))
}

// TestGitDiffIgnoresConfiguration has settings with which git prints something else.
func TestGitDiffIgnoresConfiguration(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "before", "a.go"), "package a\n")
	write(t, filepath.Join(dir, "after", "a.go"), "package b\n")
	diff := func() string {
		var out strings.Builder
		g.Expect(chapter.GitDiff(t.Context(), dir, &out, "--no-prefix", "before", "after")).To(Succeed())
		return out.String()
	}
	want := diff()
	g.Expect(want).To(ContainSubstring("-package a\n+package b\n"))
	configuration := filepath.Join(dir, "gitconfig")
	write(t, configuration, "[diff]\n\texternal = /bin/false\n\tcontext = 0\n\tnoprefix = true\n\talgorithm = patience\n[color]\n\tui = always\n[core]\n\tautocrlf = true\n")
	t.Setenv("GIT_CONFIG_GLOBAL", configuration)
	t.Setenv("GIT_EXTERNAL_DIFF", "/bin/false")
	g.Expect(diff()).To(Equal(want))
}
