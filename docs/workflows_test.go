package docs_test

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/scripts/runner/plan"
)

// permissions are what a job of a workflow may do, by what it may do it with.
type permissions map[string]string

// workflow is what the tests need of a workflow of GitHub's.
type workflow struct {
	Permissions *permissions
	Jobs        map[string]struct {
		Permissions permissions
		Strategy    struct{ Matrix struct{ Part []string } }
		Steps       []step
	}
}

type step struct {
	Uses, Run string
	With      map[string]any
}

func readWorkflow(t *testing.T, text string) workflow {
	t.Helper()
	var w workflow
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	return w
}

// dangers returns a sentence for each job that may do more than it should.
func (w workflow) dangers() []string {
	var found []string
	if w.Permissions == nil || len(*w.Permissions) > 0 {
		found = append(found, "what a job may do is said in the job: write permissions: {} at the top")
	}
	for name, job := range w.Jobs {
		writes := false
		for _, access := range job.Permissions {
			writes = writes || access == "write"
		}
		for _, s := range job.Steps {
			action, _, _ := strings.Cut(s.Uses, "@")
			switch {
			case action == "actions/checkout" && writes:
				found = append(found, name+" may write, and has the code of the repository: publish in a job that runs nothing of it")
			case action == "actions/checkout" && s.With["persist-credentials"] != false:
				found = append(found, name+" leaves its token in the clone: write persist-credentials: false")
			case strings.Contains(s.Run, "${{"):
				found = append(found, name+" has an expression in a script, which could be a command: pass it in env")
			}
		}
	}
	slices.Sort(found)
	return found
}

func TestWorkflowsMayDoLittle(t *testing.T) {
	for _, file := range glob(t, ".github/workflows/*.yml") {
		for _, danger := range readWorkflow(t, read(t, file)).dangers() {
			t.Errorf("%s: %s", file, danger)
		}
	}
}

// An action has the permissions of the job that uses it. So only its steps matter.
func TestActionsHaveNoExpressionsInScripts(t *testing.T) {
	for _, file := range glob(t, ".github/actions/*/action.yml") {
		var action struct{ Runs struct{ Steps []step } }
		if err := yaml.Unmarshal([]byte(read(t, file)), &action); err != nil {
			t.Fatal(err)
		}
		if len(action.Runs.Steps) == 0 {
			t.Errorf("%s has no steps", file)
		}
		for _, s := range action.Runs.Steps {
			if strings.Contains(s.Run, "${{") {
				t.Errorf("%s has an expression in a script, which could be a command: pass it in env", file)
			}
		}
	}
}

func TestDangers(t *testing.T) {
	w := readWorkflow(t, `
jobs:
  a:
    permissions: {contents: read, pages: write}
    steps:
      - uses: actions/checkout@0123
        with: {persist-credentials: false}
  b:
    steps:
      - uses: actions/checkout@0123
      - run: echo ${{ github.event.head_commit.message }}
`)
	var got []string
	for _, danger := range w.dangers() {
		first, _, _ := strings.Cut(danger, ",")
		got = append(got, first)
	}
	want := []string{
		"a may write", "b has an expression in a script", "b leaves its token in the clone: write persist-credentials: false",
		"what a job may do is said in the job: write permissions: {} at the top",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, expected %q", got, want)
	}
}

// TestEachNightlyPartHasAJob compares the jobs of the workflow with the parts of make nightly.
func TestEachNightlyPartHasAJob(t *testing.T) {
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.For("nightly", plan.Request{Root: root}, nil)
	if err != nil {
		t.Fatal(err)
	}
	jobs, parts := readWorkflow(t, read(t, ".github/workflows/nightly.yml")).Jobs["part"].Strategy.Matrix.Part, p.Proving()
	if !slices.Equal(jobs, parts) {
		t.Errorf("the workflow runs the parts %q, and make nightly has %q", jobs, parts)
	}
}

// TestSiteIsPublished compares what the workflow makes with where GitHub Pages serves it, and with what is uploaded.
func TestSiteIsPublished(t *testing.T) {
	jobs := readWorkflow(t, read(t, ".github/workflows/site.yml")).Jobs
	var made, uploaded string
	for _, s := range jobs["make"].Steps {
		if s.Run != "" {
			made = shell(t, t.TempDir(), "make() { echo \"$@\"; }\n"+s.Run, "REPOSITORY=operator-testbed")
		}
		if strings.HasPrefix(s.Uses, "actions/upload-pages-artifact@") {
			uploaded, _ = s.With["path"].(string)
		}
	}
	if made != "site BASE=/operator-testbed/\n" || uploaded != path.Join("bin", "site") {
		t.Errorf("the workflow runs make %s and publishes %s", made, uploaded)
	}
	if got, want := jobs["publish"].Permissions, 2; len(got) != want || got["pages"] != "write" || got["id-token"] != "write" {
		t.Errorf("what publishes may do %v, expected to write pages and id-token", got)
	}
}
