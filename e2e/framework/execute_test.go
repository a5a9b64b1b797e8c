package framework

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	process "github.com/example/operator-testbed/e2e/confinement"
)

// asks is a script that prints a variable and a file, and writes to its directory.
const asks = `echo "variable: $GIVEN $SECRET"; read line < "$1"; echo "file: $line"; echo kept > own && echo "own directory"; exit 3`

// What comes with a foreign operator is confined as that one is. What comes with the caller's own is not.
func TestExecute(t *testing.T) {
	if _, err := process.Supported(); err != nil {
		t.Skipf("this machine confines no program: %v", err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("treasure\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SECRET", "variable")
	t.Setenv(operatorVariable, "/an/operator")
	for name, test := range map[string]struct{ confine, file string }{
		"foreign": {`{"memory": 402653184}`, "file: \n"},
		"own":     {"no", "file: treasure\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			t.Setenv(confineVariable, test.confine)
			s := &Scope{T: t}
			output, exit := s.Execute(t.Context(), "/bin/sh", []string{"-c", asks, "sh", secret}, []string{"GIVEN=given"})
			g.Expect(exit).To(Equal(3))
			g.Expect(output).To(ContainSubstring("variable: given \n"), "expected no variable but the given one")
			g.Expect(output).To(ContainSubstring(test.file))
			g.Expect(output).To(ContainSubstring("own directory\n"))
		})
	}
}

// A program that prints without end does not take all memory. How it started and how it ended stay readable.
func TestExecuteLimitsTheOutput(t *testing.T) {
	g := NewWithT(t)
	t.Setenv(operatorVariable, "")
	s := &Scope{T: t}
	output, exit := s.Execute(t.Context(), "/bin/sh", []string{"-c", `i=0; while [ $i -lt 80000 ]; do echo "a line of some length, number $i"; i=$((i+1)); done`}, nil)
	g.Expect(exit).To(Equal(0))
	g.Expect(len(output)).To(BeNumerically("~", mostOutput, 200))
	g.Expect(output).To(HavePrefix("a line of some length, number 0\n"))
	g.Expect(output).To(HaveSuffix("a line of some length, number 79999\n"))
	g.Expect(output).To(MatchRegexp(`(?m)^\(\d+ bytes left out\)$`))
	g.Expect(strings.Count(output, "\n")).To(BeNumerically(">", 1000))
}

func TestLimited(t *testing.T) {
	for name, test := range map[string]struct {
		written []string
		want    string
	}{
		"nothing":       {nil, ""},
		"little":        {[]string{"ab", "cd"}, "abcd"},
		"just enough":   {[]string{"abcd", "efgh"}, "abcdefgh"},
		"one more":      {[]string{"abcd", "efghi"}, "abcd\n(1 bytes left out)\nfghi"},
		"byte by byte":  {strings.Split("abcdefghijklm", ""), "abcd\n(5 bytes left out)\njklm"},
		"all at once":   {[]string{"abcdefghijklm"}, "abcd\n(5 bytes left out)\njklm"},
		"across halves": {[]string{"ab", "cdefg", "hijkl", "m"}, "abcd\n(5 bytes left out)\njklm"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			l := limited{half: 4}
			for _, part := range test.written {
				g.Expect(l.Write([]byte(part))).To(Equal(len(part)))
			}
			g.Expect(l.String()).To(Equal(test.want))
		})
	}
}
