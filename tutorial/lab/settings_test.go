package lab

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// TestRefusesSettings gives commands settings that they could only ignore: they refuse them, and no hint is used up.
func TestRefusesSettings(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	t.Setenv("TESTBED_STATE", t.TempDir())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".stage"), []byte("03-controller\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lab := t.TempDir()
	for file, content := range map[string]string{".stage": "03-controller\n", ".lab": "no-answer\n"} {
		if err := os.WriteFile(filepath.Join(lab, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const number = ": want a whole number from 1 up, or leave it out"
	for _, test := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"diff", "--stage=03-controller", "--step=0"}, "invalid STEP=0" + number},
		{[]string{"diff", "--stage=03-controller", "--step=-1"}, "invalid STEP=-1" + number},
		{[]string{"diff", "--stage=03-controller", "--step=two"}, "invalid STEP=two" + number},
		{[]string{"hint", "--dir=" + dir, "--task=0"}, "invalid TASK=0" + number},
		{[]string{"hint", "--dir=" + dir, "--exercise=0"}, "invalid EXERCISE=0" + number},
		{[]string{"hint", "--dir=" + dir, "--stage=04-status"}, "DIR=" + dir + " is a copy that knows its chapter: leave STAGE=04-status out"},
		{[]string{"hint", "--dir=" + dir, "--task=1", "--exercise=1"}, "a hint is for a task or for an exercise: leave TASK=1 or EXERCISE=1 out"},
		{[]string{"hint", "--stage=03-controller", "--task=1"}, "a task is part of a copy: name its directory, DIR=directory, or leave TASK=1 out"},
		{[]string{"hint", "--dir=" + lab, "--task=1"}, lab + " is for the lab no-answer, which has no TASK=1: leave it out"},
		{[]string{"grade", "--dir=class", "--at-once=0"}, "invalid J=0" + number},
		{[]string{"grade", "--dir=class", "--at-once=-3"}, "invalid J=-3" + number},
		{[]string{"grade", "--dir=class", "--at-once=x"}, "invalid J=x" + number},
	} {
		g := NewWithT(t)
		root := Command(new(string))
		root.SetArgs(test.arguments)
		g.Expect(root.ExecuteContext(t.Context())).To(MatchError(test.want), "%q", test.arguments)
	}
	for _, dir := range []string{dir, lab} {
		if left, err := filepath.Glob(filepath.Join(dir, ".hints*")); err != nil || len(left) > 0 {
			t.Errorf("hints were used up: %q, %v", left, err)
		}
	}
}
