package lab

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/submission"
)

// TestWriteResult writes what there is to say. Only where the grader has failed is the error the grader's.
func TestWriteResult(t *testing.T) {
	for _, test := range []struct {
		status  grade.Status
		format  string
		score   float64
		failed  bool
		written bool
	}{
		{grade.Graded, "json", 0, false, true},
		{grade.NotGradable, "json", 0, false, true},
		{grade.NotGradable, "junit", 0, false, true},
		{grade.GraderError, "json", 0, true, true},
		{grade.GraderError, "junit", 0, true, true},
		{grade.NotGradable, "json", 1, true, false}, // a result that contradicts itself
	} {
		out := filepath.Join(t.TempDir(), "result")
		if err := os.WriteFile(out, []byte("an old one"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := grade.Result{Schema: grade.Schema, Stage: "04-status", Status: test.status, Score: test.score, Message: "no disk", Tests: []grade.Test{}}
		if err := writeResult(r, test.format, out); errors.As(err, new(GraderError)) != test.failed || (err != nil) != test.failed {
			t.Errorf("%s as %s: got %v", test.status, test.format, err)
		}
		text, err := os.ReadFile(out)
		if written := err == nil && strings.Contains(string(text), "no disk"); written != test.written || strings.Contains(string(text), "an old one") {
			t.Errorf("%s as %s: the file has %q", test.status, test.format, text)
		}
	}
}

// TestGradeOneRefuses refuses what is missing or unknown before anything is compiled, and without walls grades nothing.
func TestGradeOneRefuses(t *testing.T) {
	out := filepath.Join(t.TempDir(), "result.json")
	for _, test := range []struct {
		args   []string
		want   string
		failed bool
	}{
		{[]string{"--stage=04-status"}, "name the submission, the chapter and the file for the result", false},
		{[]string{"--stage=04-status", "--submission=x", "--out=" + out, "--format=excel"}, `unknown format "excel"`, false},
		{[]string{"--stage=04-status", "--submission=x", "--out=" + out, "--isolation=some"}, `unknown isolation "some"`, true},
		{[]string{"--stage=04-status", "--submission=x", "--out=" + out, "--isolation=inner", "--trust"}, "leave one of them out", true},
	} {
		root := Command(new(string))
		root.SetArgs(append([]string{"grade-one"}, test.args...))
		err := root.ExecuteContext(t.Context())
		if err == nil || !strings.Contains(err.Error(), test.want) || errors.As(err, new(GraderError)) != test.failed {
			t.Errorf("%v: got %v, expected %s", test.args, err, test.want)
		}
	}
}

// TestUnpacked takes a directory as it is, and unpacks an archive, also where it is all that was uploaded.
func TestUnpacked(t *testing.T) {
	g := NewWithT(t)
	dir, uploads := filepath.Join(t.TempDir(), "copy"), t.TempDir()
	g.Expect(os.MkdirAll(filepath.Join(dir, "cmd"), 0o755)).To(Succeed())
	for name, text := range map[string]string{".stage": "04-status\n", "cmd/main.go": "package main\n"} {
		g.Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)).To(Succeed())
	}
	archive := filepath.Join(uploads, "04-status.tar.gz")
	_, err := submission.Pack(repository, dir, archive)
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(unpacked(repository, dir, t.TempDir())).To(Equal(dir))
	for _, of := range []string{archive, uploads} {
		to, err := unpacked(repository, of, t.TempDir())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.ReadFile(filepath.Join(to, "cmd", "main.go"))).To(BeEquivalentTo("package main\n"))
	}
	g.Expect(os.WriteFile(archive, []byte("no archive"), 0o600)).To(Succeed())
	_, err = unpacked(repository, uploads, t.TempDir())
	var refused *submission.RefusedError
	g.Expect(errors.As(err, &refused)).To(BeTrue(), "%v", err)
	g.Expect(os.WriteFile(filepath.Join(uploads, "README.md"), nil, 0o600)).To(Succeed())
	g.Expect(unpacked(repository, uploads, t.TempDir())).To(Equal(uploads))
	_, err = unpacked(repository, filepath.Join(dir, "nowhere"), t.TempDir())
	g.Expect(err).To(MatchError(ContainSubstring("find the submission: ")))
}

// TestGraderCommit gives a grader with other tests of the teacher's another name.
func TestGraderCommit(t *testing.T) {
	extra := t.TempDir()
	names := map[string]bool{}
	for _, text := range []string{"package extra\n", "package other\n"} {
		if err := os.WriteFile(filepath.Join(extra, "a_test.go"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{"", extra} {
			commit, err := graderCommit(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			names[commit] = true
		}
	}
	if len(names) != 3 {
		t.Errorf("got %v, expected the grader without, and with each of two", names)
	}
}
