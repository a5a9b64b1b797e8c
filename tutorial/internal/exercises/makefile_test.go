package exercises_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
)

// Whatever is typed in an operator's directory, no make target reaches a cluster that make env has not set.
func TestMakefilesReachTheTestbedsClusterOnly(t *testing.T) {
	tier.All(t)
	g := NewWithT(t)
	repository, err := filepath.Abs(root)
	g.Expect(err).NotTo(HaveOccurred())
	dirs, err := filepath.Glob(filepath.Join(repository, "tutorial", "*", "Makefile"))
	g.Expect(err).NotTo(HaveOccurred())
	dirs = append(dirs, filepath.Join(repository, "operator", "Makefile"), filepath.Join(t.TempDir(), "mine", "Makefile"))
	g.Expect(exercises.Start(t.Context(), root, "04-status", filepath.Dir(dirs[len(dirs)-1]), io.Discard)).To(Succeed())

	probe := filepath.Join(t.TempDir(), "probe.mk")
	g.Expect(os.WriteFile(probe, []byte("probe:\n\t@echo acts on $$KUBECONFIG\n"), 0o600)).To(Succeed())
	const own, theirs = "/home/ann/.kube/config", "/state/kubeconfig"
	for _, dir := range dirs {
		makefile, err := os.ReadFile(dir)
		g.Expect(err).NotTo(HaveOccurred())
		dir = filepath.Dir(dir)
		// run returns what make says. What would be run to install or run an operator is printed only.
		run := func(target string, environment ...string) string {
			arguments := []string{"-f", "GNUmakefile", "-f", probe, target}
			if target != "probe" {
				arguments = append(arguments, "--just-print")
			}
			command := exec.CommandContext(t.Context(), "make", arguments...)
			command.Dir = dir
			command.Env = append(withoutVariables(os.Environ(), "KUBECONFIG=", "TESTBED_KUBECONFIG=", "MAKE", "MFLAGS="), environment...)
			said, _ := command.CombinedOutput()
			return string(said)
		}
		for _, target := range []string{"install", "uninstall", "run", "deploy", "undeploy"} {
			if !strings.Contains(string(makefile), "\n"+target+":") {
				continue
			}
			for _, environment := range [][]string{nil, {"KUBECONFIG=" + own}, {"KUBECONFIG=" + own, "TESTBED_KUBECONFIG=" + theirs}} {
				g.Expect(run(target, environment...)).To(MatchRegexp(`^\S+ \*\*\* KUBECONFIG is not what make env has set, so make `+target), dir)
			}
			g.Expect(run(target, "KUBECONFIG="+theirs, "TESTBED_KUBECONFIG="+theirs)).To(Or(ContainSubstring("kubectl "), ContainSubstring("go run ")), dir)
		}
		// A target of somebody's own does not, either.
		g.Expect(run("probe", "KUBECONFIG="+own)).To(Equal("acts on /not-set-by-make-env\n"), dir)
		g.Expect(run("probe", "KUBECONFIG="+theirs, "TESTBED_KUBECONFIG="+theirs)).To(Equal("acts on "+theirs+"\n"), dir)
	}
}

// A copy that is made in the repository has everything once: make says nothing about recipes that override others.
func TestMakeInACopyBesideScripts(t *testing.T) {
	g := NewWithT(t)
	beside := t.TempDir()
	g.Expect(os.CopyFS(filepath.Join(beside, "scripts"), os.DirFS(filepath.Join(root, "scripts")))).To(Succeed())
	g.Expect(exercises.Start(t.Context(), root, "quickstart", filepath.Join(beside, "mine"), io.Discard)).To(Succeed())
	command := exec.CommandContext(t.Context(), "make", "-C", filepath.Join(beside, "mine"), "help")
	command.Env = withoutVariables(os.Environ(), "MAKE", "MFLAGS=")
	said, err := command.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(said)).To(And(ContainSubstring("Run the unit tests"), Not(ContainSubstring("warning"))))
}

// A target of the repository's own Makefile that is typed elsewhere in it says where it belongs.
func TestMakeInTheWrongDirectory(t *testing.T) {
	g := NewWithT(t)
	dirs := []string{filepath.Join(root, "tutorial"), filepath.Join(root, "e2e"), filepath.Join(root, "operator")}
	chapters, err := filepath.Glob(filepath.Join(root, "tutorial", "*", "chapter.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range chapters {
		dirs = append(dirs, filepath.Dir(file))
	}
	for _, dir := range dirs {
		command := exec.CommandContext(t.Context(), "make", "up")
		command.Dir, command.Env = dir, withoutVariables(os.Environ(), "MAKE", "MFLAGS=")
		said, err := command.CombinedOutput()
		g.Expect(err).To(HaveOccurred(), dir)
		g.Expect(string(said)).To(HavePrefix("there is no target up in this directory: type make up in the root of operator-testbed\n"), dir)
	}
}

// In a learner's copy, the command that is printed is complete: it names the copy.
func TestMakeInACopy(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "my tickets")
	g.Expect(exercises.Start(t.Context(), root, "informer-queue", dir, io.Discard)).To(Succeed())
	for target, command := range map[string]string{"check": "make check DIR='" + dir + "'", "hint": "make hint DIR='" + dir + "'", "up": "make up"} {
		g.Expect(makes(t, dir, target)).To(Equal("there is no target " + target + " in this directory: type " + command + " in the root of operator-testbed\n"))
	}
	// What was typed with the target is part of the command.
	g.Expect(makes(t, dir, "start", "STAGE=03-controller", "DIR=my own")).To(Equal("there is no target start in this directory: type make start STAGE=03-controller DIR='my own' in the root of operator-testbed\n"))
	g.Expect(makes(t, dir, "hint", "EXERCISE=2")).To(Equal("there is no target hint in this directory: type make hint EXERCISE=2 DIR='" + dir + "' in the root of operator-testbed\n"))
}

// With DIR, the root's targets are about the copy, and not about the finished operator.
func TestMakeForACopy(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "my tickets")
	g.Expect(exercises.Start(t.Context(), root, "informer-queue", dir, io.Discard)).To(Succeed())
	for _, target := range []string{"build", "install", "uninstall"} {
		g.Expect(makes(t, root, "--just-print", "DIR="+dir, target)).To(ContainSubstring("-C '"+dir+"' "+target), target)
	}
	// Forgetting DIR is easy, so each says whose CRD it is.
	for _, of := range []struct{ setting, whose string }{
		{"DIR=" + dir, dir}, {"STAGE=03-controller", "tutorial/03-controller"}, {"STAGE=19-finished", "the finished operator (operator/)"}, {"NAME=testbed", "the finished operator (operator/)"},
	} {
		g.Expect(makes(t, root, "--just-print", of.setting, "install")).To(ContainSubstring("echo 'installing the CRD of " + of.whose + "'"))
		g.Expect(makes(t, root, "--just-print", of.setting, "uninstall")).To(ContainSubstring("echo 'removing the CRD of " + of.whose + "'"))
	}
	g.Expect(makes(t, root, "--just-print", "DIR="+dir, "manifests")).To(HaveSuffix(dir + " has no target manifests\n"))
	g.Expect(makes(t, root, "--just-print", "DIR=mistyped", "manifests")).To(HaveSuffix("there is no directory mistyped: give that of your copy\n"))
}

// A bare make is what many type first, so it names where to begin.
func TestMakeAloneNamesTheQuickStart(t *testing.T) {
	NewWithT(t).Expect(makes(t, root)).To(And(ContainSubstring("tutorial/quickstart/README.md"), ContainSubstring("make start STAGE=quickstart DIR=")))
}

// makes returns what make prints in a directory, without the line about its own failure.
func makes(t *testing.T, dir string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "make", arguments...)
	command.Dir, command.Env = dir, withoutVariables(os.Environ(), "MAKE", "MFLAGS=")
	said, _ := command.CombinedOutput()
	text, _, _ := strings.Cut(string(said), "make: ***")
	return text
}

// withoutVariables returns the environment without the variables that begin so.
func withoutVariables(environment []string, prefixes ...string) []string {
	return slices.DeleteFunc(environment, func(variable string) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
	})
}

// Deleting a CustomResourceDefinition asks no webhook, so wherever such a target is typed, make asks for what is protected from deletion.
func TestMakefilesRefuseToDeleteWhatIsProtected(t *testing.T) {
	tier.All(t)
	g := NewWithT(t)
	repository, err := filepath.Abs(root)
	g.Expect(err).NotTo(HaveOccurred())
	makefiles, err := filepath.Glob(filepath.Join(repository, "tutorial", "*", "Makefile"))
	g.Expect(err).NotTo(HaveOccurred())
	copied := filepath.Join(t.TempDir(), "mine")
	g.Expect(exercises.Start(t.Context(), root, "12-certificates", copied, io.Discard)).To(Succeed())
	makefiles = append(makefiles, filepath.Join(repository, "operator", "Makefile"), filepath.Join(copied, "Makefile"))
	// A separate project acts on the cluster of KUBECONFIG, which make env has not set.
	projects := map[string]bool{}
	for _, stage := range []string{"", "04-status", "12-certificates"} {
		project := filepath.Join(t.TempDir(), "project")
		g.Expect(exercises.Eject(t.Context(), root, stage, project, "", io.Discard)).To(Succeed())
		makefile := filepath.Join(project, "Makefile")
		makefiles, projects[makefile] = append(makefiles, makefile), true
	}

	// The cluster has one CustomResourceDefinition, and these of its objects are protected.
	work := t.TempDir()
	protected, deleted := filepath.Join(work, "protected"), filepath.Join(work, "deleted")
	g.Expect(os.WriteFile(filepath.Join(work, "kubectl"), []byte(`#!/bin/sh
case "$1 $2" in
"get --ignore-not-found") cat >/dev/null; echo customresourcedefinition.apiextensions.k8s.io/memcacheds.cache.example.com ;;
"get memcacheds.cache.example.com") cat '`+protected+`' ;;
"delete "*) cat >/dev/null; touch '`+deleted+`' ;;
esac
`), 0o700)).To(Succeed())
	tested := 0
	for _, makefile := range makefiles {
		content, err := os.ReadFile(makefile)
		g.Expect(err).NotTo(HaveOccurred())
		for _, target := range []string{"uninstall", "undeploy"} {
			if !strings.Contains(string(content), "\n"+target+":") {
				continue
			}
			tested++
			run := func(objects string, arguments ...string) (said string, deletes bool) {
				g.Expect(os.WriteFile(protected, []byte(objects), 0o600)).To(Succeed())
				g.Expect(os.RemoveAll(deleted)).To(Succeed())
				command := exec.CommandContext(t.Context(), "make", append([]string{"--silent", "--old-file=manifests", target}, arguments...)...)
				command.Dir = filepath.Dir(makefile)
				command.Env = append(withoutVariables(os.Environ(), "KUBECONFIG=", "TESTBED_KUBECONFIG=", "MAKE", "MFLAGS="),
					"KUBECONFIG=/state", "FORCE=1", "PATH="+work+":"+os.Getenv("PATH"))
				if !projects[makefile] {
					command.Env = append(command.Env, "TESTBED_KUBECONFIG=/state")
				}
				out, _ := command.CombinedOutput()
				_, err := os.Stat(deleted)
				return string(out), err == nil
			}
			const some, many = "default/a\nteam/b\n", "default/a\nteam/b\nteam/c\nteam/d\nteam/e\n"
			for objects, named := range map[string]string{some: "(2: default/a, team/b)", many: "(5: default/a, team/b, team/c and 2 more)"} {
				said, deletes := run(objects)
				g.Expect(said).To(HavePrefix("make "+target+" deletes the CustomResourceDefinition memcacheds.cache.example.com, and with it objects that "+
					"cache.example.com/deletion-protection protects "+named+": remove the annotation from them, or add FORCE=1\n"), makefile)
				g.Expect(deletes).To(BeFalse(), makefile)
			}
			for _, arguments := range [][]string{nil, {"FORCE=1"}} {
				objects := map[bool]string{true: "", false: some}[arguments == nil]
				said, deletes := run(objects, arguments...)
				g.Expect(said).To(BeEmpty(), makefile)
				g.Expect(deletes).To(BeTrue(), makefile)
			}
			for _, value := range []string{"0", "2", "true"} {
				said, deletes := run(some, "FORCE="+value)
				g.Expect(said).To(ContainSubstring("*** FORCE="+value+" means nothing: use FORCE=1, or leave it out."), makefile)
				g.Expect(deletes).To(BeFalse(), makefile)
			}
		}
	}
	g.Expect(tested).To(BeNumerically(">", 10))
}
