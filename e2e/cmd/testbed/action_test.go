package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/operator"
	"github.com/example/operator-testbed/e2e/tier"
)

// TestAction executes the scripts of the action in .github/actions/conformance, as GitHub does, for a configuration that lists a point as
// known which holds: the action fails, and says which line to remove. The reports are there nevertheless.
func TestAction(t *testing.T) {
	tier.All(t)
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t)
	program, err := operator.Build(t.Context(), b.root, operator.Finished)
	g.Expect(err).NotTo(HaveOccurred())
	directory := filepath.Join(b.root, ".github", "actions", "conformance")
	content, err := os.ReadFile(filepath.Join(directory, "action.yml"))
	g.Expect(err).NotTo(HaveOccurred())
	var action struct {
		Inputs map[string]struct{ Default string }
		Runs   struct {
			Steps []struct {
				If, Run string
				Env     map[string]string
			}
		}
	}
	g.Expect(yaml.Unmarshal(content, &action)).To(Succeed())

	workspace := t.TempDir()
	g.Expect(os.Symlink(filepath.Join(b.root, "operator", "config"), filepath.Join(workspace, "config"))).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(workspace, "conformance.yaml"), []byte(`executable: `+program.Binary+`
manifests: config/default
samples:
- file: config/samples/cache_v1alpha1_memcached.yaml
known:
- point: a restart writes nothing
  reason: this is not so
`), 0o600)).To(Succeed())
	summary := filepath.Join(workspace, "summary")
	var failure error
	var output strings.Builder
	for _, step := range action.Runs.Steps {
		if step.Run == "" || failure != nil && step.If != "always()" {
			continue
		}
		command := b.command("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step.Run)
		command.Dir = workspace
		command.Env = append(command.Env, "GITHUB_WORKSPACE="+workspace, "GITHUB_ACTION_PATH="+directory, "GITHUB_STEP_SUMMARY="+summary)
		for name, value := range step.Env {
			for input, of := range action.Inputs {
				value = strings.ReplaceAll(value, "${{ inputs."+input+" }}", of.Default)
			}
			g.Expect(value).NotTo(ContainSubstring("${{"))
			command.Env = append(command.Env, name+"="+value)
		}
		out, err := command.CombinedOutput()
		output.Write(out)
		if err != nil {
			g.Expect(errors.As(err, new(*exec.ExitError))).To(BeTrue(), "%v", err)
			failure = err
		}
	}
	g.Expect(failure).To(HaveOccurred(), output.String())
	g.Expect(output.String()).To(MatchRegexp(`(?m)^testbed: the outcomes differ from those that .*/conformance.yaml lists:\n"a restart writes nothing" holds, although it is listed as known: remove it from the file$`))
	for _, name := range []string{"report.html", "report.jsonl", "report.md", "report.xml"} {
		g.Expect(filepath.Join(workspace, "conformance-report", name)).To(BeAnExistingFile())
	}
	shown, err := os.ReadFile(summary)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(shown)).To(ContainSubstring("| 6 | a restart writes nothing | holds |"))
}
