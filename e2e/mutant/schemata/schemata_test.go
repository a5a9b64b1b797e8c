package schemata_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/mutant/schemata"
)

// healthy has each shape that a call must be passed on for.
const healthy = `//go:build linux || darwin

// Package main is healthy.
package main

import (
	"errors"
	"fmt"
)

type counter[T any] struct{ seen []T }

// Add is a method of a generic type, without a result.
func (c *counter[T]) Add(all ...T) { c.seen = append(c.seen, all...) }

func (counter[T]) kind(string, int) (name string, err error) { return "counter", nil }

func first[T any, U any](one T, _ U) T {
	return one
}

func depth(n int) int {
	if n == 0 {
		return 0
	}
	return 1 + depth(n-1)
}

func describe(err error) string { /* a comment */ return err.Error() }

func main() { // what it prints tells the mutants apart
	c := &counter[int]{}
	add := c.Add
	add(1, 2)
	name, err := c.kind("", 0)
	fmt.Println(len(c.seen), name, err, first("one", "two"), depth(3), describe(errors.New("failed")))
}
`

// change returns the healthy text with pairs of texts, the old and the new one, exchanged.
func change(pairs ...string) []byte { return []byte(strings.NewReplacer(pairs...).Replace(healthy)) }

// mutants are versions of the healthy text, and what each prints.
var mutants = []struct {
	version schemata.Version
	prints  string
}{
	{schemata.Version{Mutant: "method", Text: change("append(c.seen, all...)", "append(c.seen, all[0])")}, "1 counter <nil> one 3 failed"},
	{schemata.Version{Mutant: "no-names", Text: change(`return "counter", nil`, `name = "mutant"; return`)}, "2 mutant <nil> one 3 failed"},
	{schemata.Version{Mutant: "generic", Text: change("return one\n", "var none T\n\treturn none\n")}, "2 counter <nil>  3 failed"},
	{schemata.Version{Mutant: "recursion", Text: change("1 + depth(n-1)", "2 + depth(n-1)")}, "2 counter <nil> one 6 failed"},
	{schemata.Version{Mutant: "import", Text: change("\t\"fmt\"\n", "\t\"fmt\"\n\t\"strings\"\n", "return err.Error()", "return strings.ToUpper(err.Error())")}, "2 counter <nil> one 3 FAILED"},
	{schemata.Version{Mutant: "one-import-less", Text: change("\t\"errors\"\n", "", `errors.New("failed")`, `fmt.Errorf("other")`)}, "2 counter <nil> one 3 other"},
	{schemata.Version{Mutant: "two-functions", Text: change("return 0\n", "return 1\n", "return err.Error()", `return ""`)}, "2 counter <nil> one 4"},
	{schemata.Version{Mutant: "a-type", Text: change("return err.Error()", "return loud{err}.text()", "func main", "type loud struct{ error }\n\nfunc (l loud) text() string { return l.Error() + bang() }\n\nfunc bang() string { return \"!\" }\n\nfunc main")}, "2 counter <nil> one 3 failed!"},
	{schemata.Version{Mutant: "another-of-that-name", Text: change("return err.Error()", "return bang()", "func main", "func bang() string { return \"bang\" }\n\nvar _ = describe\n\nfunc main")}, "2 counter <nil> one 3 bang"},
	{schemata.Version{Mutant: "main", Text: change("\tadd(1, 2)\n", "\t_ = add\n")}, "0 counter <nil> one 3 failed"},
}

// One executable does as the healthy text, and as each mutant's where that is active.
func TestCombine(t *testing.T) {
	g := NewWithT(t)
	var versions []schemata.Version
	for _, m := range mutants {
		g.Expect(schemata.Fit([]byte(healthy), m.version)).To(Succeed(), m.version.Mutant)
		versions = append(versions, m.version)
	}
	combined, name, err := schemata.Combine([]byte(healthy), versions)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(name).To(Equal("main"))
	again, _, err := schemata.Combine([]byte(healthy), versions)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(again)).To(Equal(string(combined)), "or each build would compile it anew")

	binary := build(t, string(combined), string(schemata.Selector(name)))
	g.Expect(run(t, binary, "")).To(Equal("2 counter <nil> one 3 failed"))
	for _, m := range mutants {
		g.Expect(run(t, binary, m.version.Mutant)).To(Equal(m.prints), m.version.Mutant)
	}
}

// What is healthy keeps its lines, its comments and its directives.
func TestCombineKeepsTheText(t *testing.T) {
	g := NewWithT(t)
	combined, _, err := schemata.Combine([]byte(healthy), []schemata.Version{mutants[1].version, mutants[4].version})
	g.Expect(err).NotTo(HaveOccurred())
	for i, line := range strings.Split(strings.TrimSpace(healthy), "\n") {
		is := strings.Split(string(combined), "\n")[i]
		switch {
		case line == "package main":
			g.Expect(is).To(Equal(`package main; import mutant_import_strings "strings"`))
		case strings.Contains(line, " kind("):
			g.Expect(is).To(Equal(`func (mutantReceiver counter[T]) kind(mutantArgument1 string, mutantArgument2 int) (name string, err error) ` +
				`{ switch mutantActive { case "no-names": return mutantReceiver.mutant_no_names_kind(mutantArgument1, mutantArgument2); };  return "counter", nil }`))
		case strings.Contains(line, "func describe("):
			g.Expect(is).To(HavePrefix(`func describe(err error) string { switch mutantActive { case "import": return mutant_import_describe(err); };`))
			g.Expect(is).To(HaveSuffix(`/* a comment */ return err.Error() }`))
		default:
			g.Expect(is).To(Equal(line))
		}
	}
}

func TestFitRefuses(t *testing.T) {
	const text = `package p

import (
	"embed"
	_ "image/png"
)

//go:embed p.go
var files embed.FS

const limit = 5

var table = map[string]int{"a": limit}

type thing struct{ size int }

func (t thing) grow(by int) int { return t.size + by }

func init() { table["b"] = 1 }

func safe() { defer func() { recover() }() }

func plain() { println("plain") }
`
	for name, tc := range map[string]struct{ old, new, why string }{
		"another package":            {"package p", "package q", "the package's name"},
		"a directive":                {"//go:embed p.go", "//go:embed *.go", "a directive of the compiler's"},
		"a constant":                 {"limit = 5", "limit = 6", "changes or removes const limit = 5"},
		"a variable":                 {`{"a": limit}`, `{"a": 6}`, "changes or removes var table"},
		"a type":                     {"size int", "size int8", "changes or removes type thing"},
		"a signature":                {"grow(by int)", "grow(by ...int)", "changes the signature of grow"},
		"a removed function":         {`func plain() { println("plain") }`, "", "changes or removes the function plain"},
		"a removed method":           {"func (t thing) grow(by int) int { return t.size + by }", "", "changes or removes the method thing.grow"},
		"an initialization":          {`table["b"] = 1`, `table["b"] = 2`, "changes or removes func init"},
		"one more initialization":    {"func plain", "func init() { clear(table) }\n\nfunc plain", "what it adds as init"},
		"a recovery":                 {"{ recover() }", "{ _ = recover() }", "recovers from panics"},
		"one more variable":          {"func plain", "var more = plain\n\nfunc plain", "changes or adds a value: more = plain"},
		"an effect in passing":       {"func plain", "var _ = len(table)\n\nfunc plain", "changes or adds a value: _ = len(table)"},
		"one more method":            {"func plain", "func (t thing) String() string { return \"\" }\n\nfunc plain", "adds the method String to a type that the healthy operator has"},
		"a predeclared name":         {"func plain", "func println(string) {}\n\nfunc plain", "what it adds as println"},
		"an import for its effects":  {`_ "image/png"`, "_ \"image/png\"\n\t_ \"image/gif\"", "what it imports as _"},
		"no import for its effects":  {`_ "image/png"`, "", "it does not import what"},
		"another package's name":     {`"embed"`, `embed "io"`, "what it imports as embed"},
		"an import without its name": {`"embed"`, "\"embed\"\n\t. \"io\"", "what it imports as ."},
		"no Go":                      {"package p", "paket p", "expected 'package'"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			mutated := strings.Replace(text, tc.old, tc.new, 1)
			g.Expect(mutated).NotTo(Equal(text))
			version := schemata.Version{Mutant: "m", Text: []byte(mutated)}
			g.Expect(schemata.Fit([]byte(text), version)).To(MatchError(ContainSubstring(tc.why)))
			_, _, err := schemata.Combine([]byte(text), []schemata.Version{version})
			g.Expect(err).To(MatchError(ContainSubstring(tc.why)))
		})
	}
}

// build compiles a program of these files and returns the executable.
func build(t *testing.T, files ...string) string {
	t.Helper()
	folder := t.TempDir()
	args := []string{"build", "-o", filepath.Join(folder, "program")}
	for i, text := range files {
		path := filepath.Join(folder, fmt.Sprintf("file%d.go", i))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, strings.Join(files, "\n"))
	}
	return filepath.Join(folder, "program")
}

// run returns what a program prints while that mutant is active.
func run(t *testing.T, binary, mutant string) string {
	t.Helper()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), binary)
	command.Env = append(os.Environ(), schemata.Variable+"="+mutant)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}
