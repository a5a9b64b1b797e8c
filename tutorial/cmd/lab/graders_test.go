package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/grade/export"
)

const graders = repository + "/docs/graders/"

// The files that are copied into other graders call grade-one with flags, and for formats, that there are.
func TestGradersCallGradeOne(t *testing.T) {
	g := NewWithT(t)
	root := command()
	gradeOne, _, err := root.Find([]string{"grade-one"})
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range []string{"install", "grade", "github/grade.yml"} {
		text, err := os.ReadFile(graders + file)
		g.Expect(err).NotTo(HaveOccurred())
		calls := regexp.MustCompile(`bin/lab grade-one ((?:.*\\\n)*.*)`).FindAllSubmatch(text, -1)
		g.Expect(calls).To(HaveLen(1), file)
		flags := regexp.MustCompile(`--([a-z-]+)=`).FindAllSubmatch(calls[0][1], -1)
		g.Expect(len(flags)).To(BeNumerically(">=", 4), file)
		for _, flag := range flags {
			name := string(flag[1])
			g.Expect(gradeOne.Flag(name)).NotTo(BeNil(), "%s: --%s", file, name)
		}
	}
	for file, format := range map[string]string{"gradescope/run_autograder": "gradescope", "prairielearn/entrypoint": "prairielearn"} {
		text, err := os.ReadFile(graders + file)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).To(ContainSubstring("exec /opt/grader/grade " + format + " /"))
		g.Expect(export.SubmissionFormats).To(ContainElement(format))
	}
}

// The script passes on the settings, writes what there is to write where the other grader reads it, and the exit code.
func TestGraderScript(t *testing.T) {
	for _, test := range []struct {
		name, lab string
		code      int
		want      string
	}{
		{"a grade", `echo "$*" >"${!#}"`, 0, "grade-one --isolation=inner --stage=05-status --lab= --submission=SUBMISSION --calibration=HOME/calibration.json --format=vpl --out=OUT\n"},
		{"the grader fails, and the format says so", `echo failed >"${!#}"; exit 2`, 2, "failed\n"},
		{"the grader fails, and the format can't say so", `exit 2`, 2, ""},
		{"another's file", `ln -s "$HOME_OF_TEST/settings" "${!#}"`, 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			home, programs, submission := t.TempDir(), t.TempDir(), t.TempDir()
			result := filepath.Join(t.TempDir(), "results", "results.json")
			write := func(file, text string) {
				g.Expect(os.MkdirAll(filepath.Dir(file), 0o755)).To(Succeed())
				g.Expect(os.WriteFile(file, []byte(text), 0o700)).To(Succeed())
			}
			settings, err := os.ReadFile(graders + "settings")
			g.Expect(err).NotTo(HaveOccurred())
			write(filepath.Join(home, "settings"), string(settings))
			write(filepath.Join(submission, "go.mod"), "module example.com/memcached-operator\n")
			// Its last argument is --out, whose value follows the equals sign. It sees a copy of the submission.
			write(filepath.Join(home, "repository", "bin", "lab"), `#!/usr/bin/env bash
HOME_OF_TEST='`+home+`'
for argument; do case $argument in
--out=*) out=${argument#--out=} ;;
--submission=*) [ -s "${argument#--submission=}/go.mod" ] || exit 3 ;;
esac; done
set -- "$@" "$out"
`+strings.ReplaceAll(test.lab, `"$*"`, `"${*:1:$#-1}"`)+"\n")
			// As root, it would change to a user whom this machine does not have.
			write(filepath.Join(programs, "runuser"), "#!/usr/bin/env bash\nshift 2\nexec \"$@\"\n")
			write(filepath.Join(programs, "chown"), "#!/usr/bin/env bash\n")

			script, err := filepath.Abs(graders + "grade")
			g.Expect(err).NotTo(HaveOccurred())
			run := exec.CommandContext(t.Context(), script, "vpl", submission, result)
			run.Env = append(os.Environ(), "GRADER_HOME="+home, "PATH="+programs+":"+os.Getenv("PATH"), "TMPDIR="+t.TempDir())
			out, _ := run.CombinedOutput()
			g.Expect(run.ProcessState.ExitCode()).To(Equal(test.code), "%s", out)
			text, err := os.ReadFile(result)
			g.Expect(err == nil).To(Equal(test.want != ""))
			got := strings.ReplaceAll(string(text), home, "HOME")
			got = regexp.MustCompile(`=\S+/submission `).ReplaceAllString(got, "=SUBMISSION ")
			got = regexp.MustCompile(`=\S+/out/result`).ReplaceAllString(got, "=OUT")
			g.Expect(got).To(Equal(test.want))
		})
	}
}
