package lab

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/tutorial/internal/class"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
)

const repository = "../.."

// The targets pass on what is typed. AS is a variable of make's own, too, which names an assembler.
func TestMakeClass(t *testing.T) {
	for arguments, want := range map[string]string{
		"class-handout": "class handout --dir='' --stage='' --lab='' --as=''",
		"class-collect": "class collect --dir='' --stage='' --lab='' --from='' --as=''",
		"class-collect DIR=ops AS=archives FROM=a/b":                 "class collect --dir='ops' --stage='' --lab='' --from='a/b' --as='archives'",
		"class-new STAGE=04-status FROM=students.csv":                "class new --dir='' --stage='04-status' --lab='' --from='students.csv'",
		"class-new LAB=hands-off":                                    "class new --dir='' --stage='' --lab='hands-off' --from=''",
		"class-serve":                                                "class serve --dir='' --stage='' --lab='' --port='' --lan=''",
		"class-serve DIR=ops PORT=7000 LAN=yes":                      "class serve --dir='ops' --stage='' --lab='' --port='7000' --lan='yes'",
		"class-grade J=2 STUDENT=s07":                                "grade --dir='' --stage='' --lab='' --student='s07' --at-once='2' --extra='' ",
		"class-export STAGE=04-status FORMAT=moodle OUT=grades.csv":  "class export --dir='' --stage='04-status' --lab='' --format='moodle' --column='' --out='grades.csv'",
		"class-export DIR=ops FORMAT=canvas COLUMN=Status OUT=b.csv": "class export --dir='ops' --stage='' --lab='' --format='canvas' --column='Status' --out='b.csv'",
		"class-forget DIR=ops":                                       "class forget --dir='ops' --stage='' --lab=''",
		"learn":                                                      "learn --stage='' --dir='' --cluster='embedded' --port=''",
		"learn STAGE=04-status DIR=mine CLUSTER=kind PORT=7000":      "learn --stage='04-status' --dir='mine' --cluster='kind' --port='7000'",
		"submit DIR=my-operator":                                     "submit --dir='my-operator'",
	} {
		command := exec.CommandContext(t.Context(), "make", append([]string{"--just-print"}, strings.Fields(arguments)...)...)
		command.Dir = repository
		for _, variable := range os.Environ() {
			if !strings.HasPrefix(variable, "MAKE") && !strings.HasPrefix(variable, "MFLAGS=") {
				command.Env = append(command.Env, variable)
			}
		}
		out, err := command.CombinedOutput()
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), "%s", out)
		NewWithT(t).Expect(string(out)).To(MatchRegexp(`(?m)^bin/testbed .*lab `+regexp.QuoteMeta(want)+`\n\z`), arguments)
	}
}

// A class is in the directory class unless DIR names another one, and works on a chapter or a lab. It is handed out as directories.
func TestClassDefaults(t *testing.T) {
	for name, test := range map[string]struct{ stage, dir, lab, wantStage, wantDir, err string }{
		"nothing":   {wantDir: "class"},
		"a chapter": {stage: "04-status", dir: "ops", wantStage: "04-status", wantDir: "ops"},
		"a lab":     {lab: "hands-off", wantStage: "hands-off", wantDir: "class"},
		"both":      {stage: "04-status", lab: "hands-off", err: "LAB=hands-off is what the class works on: leave STAGE=04-status out"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stage, dir, ran := test.stage, test.dir, false
			all := &cobra.Command{Use: "class", SilenceErrors: true, SilenceUsage: true}
			all.AddCommand(&cobra.Command{Use: "show", RunE: func(*cobra.Command, []string) error { ran = true; return nil }})
			aboutClass(all, &stage, &dir)
			all.SetArgs([]string{"show", "--lab=" + test.lab})
			err := all.ExecuteContext(t.Context())
			if test.err != "" {
				g.Expect(err).To(MatchError(test.err))
				g.Expect(ran).To(BeFalse())
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(ran).To(BeTrue())
			g.Expect([]string{stage, dir}).To(Equal([]string{test.wantStage, test.wantDir}))
		})
	}
	g := NewWithT(t)
	for _, teacher := range [][]string{{"grade"}, {"class", "new"}, {"class", "serve"}} {
		root := Command(new(string))
		root.SetArgs(append(teacher, "--lab=hands-off", "--stage=04-status", "--dir="+t.TempDir()))
		g.Expect(root.ExecuteContext(t.Context())).To(MatchError("LAB=hands-off is what the class works on: leave STAGE=04-status out"))
	}
	g.Expect(formOf("")).To(Equal(class.Directories))
	g.Expect(formOf("archives")).To(Equal(class.Archives))
}

// FROM= is a variable of the shell that was empty, and not the wish to collect what was handed out.
func TestMakeClassCollectFromNothing(t *testing.T) {
	command := exec.CommandContext(t.Context(), "make", "--just-print", "class-collect", "FROM=")
	command.Dir = repository
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "MAKE") && !strings.HasPrefix(variable, "MFLAGS=") {
			command.Env = append(command.Env, variable)
		}
	}
	out, err := command.CombinedOutput()
	NewWithT(t).Expect(err).To(HaveOccurred(), "%s", out)
	NewWithT(t).Expect(string(out)).To(ContainSubstring("FROM is empty: name the directory with what was handed in, or leave FROM out"))
}

func TestReport(t *testing.T) {
	var out strings.Builder
	students := []class.Student{{ID: "s01"}, {ID: "s02"}, {ID: "s03"}, {ID: "s04"}, {ID: "s05"}, {ID: "s06"}, {ID: "s07"}}
	report(&out, class.Assignment{Stage: "04-status", Attempts: 2}, "handed-in", []class.Collection{
		{Student: students[0], Outcome: class.Collected},
		{Student: students[1], Outcome: class.Missing},
		{Student: students[2], Outcome: class.Refused, Note: "go.work would replace modules: delete it"},
		{Student: students[3], Outcome: class.Unchanged},
		{Student: students[4], Outcome: class.Surplus},
		{Student: students[5], Outcome: class.Missing},
		{Student: students[6], Outcome: class.NotBegun},
	})
	NewWithT(t).Expect(out.String()).To(Equal(`s03 refused: go.work would replace modules: delete it
s05 surplus: has had 2 attempts: this one was not kept
04-status from handed-in: 1 collected, 1 unchanged, 1 refused, 1 surplus, 1 not begun (s07), 2 missing (s02, s06)
`))
}

func TestAgree(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	for _, answer := range []string{"y\n", "YES\n", " y"} {
		g.Expect(agree(t.Context(), strings.NewReader(answer), &out, "Remove? ")).To(Succeed(), answer)
	}
	for _, answer := range []string{"", "n\n", "yesterday\n"} {
		g.Expect(agree(t.Context(), strings.NewReader(answer), &out, "Remove? ")).To(MatchError(HavePrefix("nothing was removed")), answer)
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	in, writer, err := os.Pipe()
	g.Expect(err).NotTo(HaveOccurred())
	defer in.Close()
	defer writer.Close()
	g.Expect(agree(interrupted, in, &out, "Remove? ")).To(MatchError(context.Canceled))
	g.Expect(out.String()).To(HavePrefix(strings.Repeat("Remove? ", 2)))
}

func TestForgetNeedsAnAnswer(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "ops")
	_, err := class.New(t.Context(), repository, dir, "04-status", "", time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	var out strings.Builder
	t.Setenv("YES", "")
	g.Expect(forget(t.Context(), dir, &out)).To(MatchError(HaveSuffix("feedback (0 in it): add YES=1 to make's command line to agree")))
	g.Expect(filepath.Join(dir, class.RosterFile)).To(BeAnExistingFile())
	t.Setenv("YES", "1")
	g.Expect(forget(t.Context(), dir, &out)).To(Succeed())
	g.Expect(filepath.Join(dir, class.RosterFile)).NotTo(BeAnExistingFile())
	g.Expect(out.String()).To(HavePrefix("Removed: " + dir))
}

func TestSubmit(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "my operator")
	write := func(name, text string) {
		file := filepath.Join(dir, name)
		g.Expect(errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600))).To(Succeed())
	}
	g.Expect(exercises.Solution(t.Context(), repository, "04-status", dir, io.Discard)).To(Succeed())
	write(".class", "class: ops\nstudent: s07\ntoken: secret\n")
	write("bin/manager", "built")
	archive := filepath.Join(filepath.Dir(dir), "s07-04-status.tar.gz")
	printed := func() string {
		t.Helper()
		var out strings.Builder
		g.Expect(submit(t.Context(), repository, dir, &out)).To(Succeed())
		g.Expect(archive).To(BeAnExistingFile())
		return strings.TrimPrefix(out.String(), archive)
	}
	g.Expect(printed()).To(And(
		MatchRegexp(`^ has\n  \.gitattributes\n  \.gitignore\n  \.stage\n  \.submission\n(  [\w.]+\n)+  api/ \(\d+ files\)\n  cmd/ \(1 file\)\n  config/ `), Not(ContainSubstring(" bin/")),
		HaveSuffix("\nfor 04-status. It was never checked: run make check DIR='"+dir+"', and submit again.\n")))

	at := time.Now().Add(time.Minute)
	write(".events", `{"kind":"check","at":"`+at.Format(time.RFC3339)+`","outcome":"fail","passed":3,"of":5,"took_ms":1000}`+"\n")
	g.Expect(printed()).To(HaveSuffix("\nfor 04-status. Last check, " + at.Format(time.DateTime) + ": 3 of 5 hold.\n"))
	later := at.Add(time.Minute)
	g.Expect(os.Chtimes(filepath.Join(dir, "cmd", "main.go"), later, later)).To(Succeed())
	g.Expect(printed()).To(HaveSuffix("\nWarning: cmd/main.go has changed since that check:" +
		" run make check DIR='" + dir + "', and submit again.\n"))

	// What the grader would refuse is not packed.
	g.Expect(os.Remove(archive)).To(Succeed())
	refused := func() error { return submit(t.Context(), repository, dir, &strings.Builder{}) }
	role := filepath.Join(dir, "config", "rbac", "role.yaml")
	right, err := os.ReadFile(role)
	g.Expect(err).NotTo(HaveOccurred())
	write("config/rbac/role.yaml", strings.Replace(string(right), "  - deployments\n", "  - deployments\n  - daemonsets\n", 1))
	g.Expect(refused()).To(MatchError(MatchRegexp(`^ClusterRole \S+: it grants create daemonsets\.apps, .*, which the operator of 04-status does not need; ` +
		`remove that from your markers, and run make manifests$`)))
	write("config/rbac/role.yaml", string(right))
	definition := filepath.Join(dir, "config", "crd", "bases", "cache.example.com_memcacheds.yaml")
	schema, err := os.ReadFile(definition)
	g.Expect(err).NotTo(HaveOccurred())
	write("config/crd/bases/cache.example.com_memcacheds.yaml",
		strings.Replace(string(schema), "\n          status:\n", "\n          status:\n            default: {nodes: [a]}\n", 1))
	g.Expect(refused()).To(MatchError("CustomResourceDefinition memcacheds.cache.example.com: in version v1alpha1, the object's .status has a default, " +
		"but the operator writes the status; remove the default"))
	g.Expect(os.RemoveAll(filepath.Join(dir, "config", "default"))).To(Succeed())
	g.Expect(refused()).To(MatchError("there is no directory config/default, which installs the operator"))
	write("go.work", "go 1.26\n")
	g.Expect(refused()).To(MatchError("go.work would replace modules: delete it"))
	g.Expect(archive).NotTo(BeAnExistingFile())
	g.Expect(submit(t.Context(), repository, filepath.Join(dir, "nowhere"), &strings.Builder{})).To(MatchError(HavePrefix("there is no directory ")))
}
