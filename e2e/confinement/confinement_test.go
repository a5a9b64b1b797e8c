package confinement

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/reaper"
)

func TestFlags(t *testing.T) {
	want := Rules{
		Read: []string{"/a", "/b c"}, Write: []string{"/d"}, Dir: "/e", Connect: []uint16{1}, Bind: []uint16{2, 65535},
		Env: []string{"A=", "B=-c=--"}, CPU: time.Minute, FileSize: 3, Memory: 4, Optional: true,
	}
	program := []string{"/bin/operator", "-read=/etc/shadow", "--"}
	got, rest, err := parse(append(append(want.flags(), "--"), program...))
	if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(rest, program) {
		t.Errorf("got %+v and %q, %v", got, rest, err)
	}
	if got, _, err := parse([]string{"-env=A=1", "-env=B=2", "-env=A=3", "--", "/a"}); err != nil || !slices.Equal(got.Env, []string{"B=2", "A=3"}) {
		t.Errorf("of two variables with one name, %q are left, %v", got.Env, err)
	}
	for args, sentence := range map[string]string{
		"":                        "give the absolute path",
		"-- operator":             "give the absolute path",
		"-bind=65536 -- /a":       "invalid value",
		"-env=LD_PRELOAD -- /a":   "want NAME=VALUE",
		"-everything=true -- /a":  "not defined",
		"-cpu=1 -read=/etc -- /a": "invalid value",
	} {
		if _, _, err := parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), sentence) {
			t.Errorf("%s: got %v, expected %q", args, err, sentence)
		}
	}
}

// executes is set where this executable is to become a program, unconfined.
const executes = "CONFINEMENT_TEST_EXECUTES"

func TestMain(m *testing.M) {
	if os.Getenv(executes) != "" {
		rules := Rules{Write: []string{os.Args[1]}, Env: []string{"ONLY=this"}}
		fmt.Println(unconfined(rules, []string{"/bin/sh", "-c", "pwd && set && : </etc/passwd && echo reads"}))
		os.Exit(1)
	}
	os.Exit(reaper.Run(m))
}

// TestUnconfined: where nothing can be confined, a program has no other environment and no other directory than where it can.
func TestUnconfined(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), self, dir)
	run.Env = append(os.Environ(), executes+"=yes", "OF_THE_SUITE=secret")
	out, err := run.CombinedOutput()
	text := string(out)
	if err != nil || !strings.HasPrefix(text, dir+"\n") || !strings.HasSuffix(text, "\nreads\n") || !strings.Contains(text, "ONLY='this'") || strings.Contains(text, "OF_THE_SUITE") {
		t.Errorf("got %q, %v", text, err)
	}
}

// TestCommandLine executes a program that reads its environment and a file. It gets the environment of the rules, and not the file.
func TestCommandLine(t *testing.T) {
	walls, err := Supported()
	if err != nil {
		t.Skip(err)
	}
	if !strings.HasPrefix(walls, "landlock") {
		t.Errorf("confined by %q", walls)
	}
	sh, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, optional := range []bool{false, true} {
		rules := Rules{Write: []string{t.TempDir()}, Env: []string{"ONLY=this"}, Optional: optional}
		line, err := rules.CommandLine(sh, "-c", "set; : </etc/passwd && echo reads")
		if err != nil {
			t.Fatal(err)
		}
		run := exec.CommandContext(t.Context(), line[0], line[1:]...)
		run.Env = append(os.Environ(), "OF_THE_SUITE=secret")
		out, err := run.CombinedOutput()
		text := string(out)
		if err == nil || strings.Contains(text, "reads") || !strings.Contains(text, "ermission denied") || !strings.Contains(text, "ONLY='this'") || strings.Contains(text, "OF_THE_SUITE") {
			t.Errorf("optional %v: got %q, %v", optional, text, err)
		}
	}
}
