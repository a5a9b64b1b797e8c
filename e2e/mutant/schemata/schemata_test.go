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

// healthy has functions of each shape.
const healthy = `//go:build linux || darwin

// Package main is healthy.
package main

import (
	"errors"
	"fmt"
	"runtime"
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

func safe() (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	panic("safe")
}

func line() int {
	_, _, line, _ := runtime.Caller(0)
	return line
}

func describe(err error) string { /* a comment */ return err.Error() }

func main() { // what it prints distinguishes the mutants
	c := &counter[int]{}
	add := c.Add
	add(1, 2)
	name, err := c.kind("", 0)
	fmt.Println(len(c.seen), name, err, first("one", "two"), depth(3), describe(errors.New("failed")))
	fmt.Println(safe(), line())
}
`

// change returns the healthy text with pairs of texts, the old and the new one, exchanged.
func change(pairs ...string) []byte { return []byte(strings.NewReplacer(pairs...).Replace(healthy)) }

// mutants are versions of the healthy text, and what each prints.
var mutants = []struct {
	version schemata.Version
	prints  string
}{
	{schemata.Version{Mutant: "method", Text: change("append(c.seen, all...)", "append(c.seen, all[0])")}, "1 counter <nil> one 3 failed\nsafe 36"},
	{schemata.Version{Mutant: "no-names", Text: change(`return "counter", nil`, `name = "mutant"; return`)}, "2 mutant <nil> one 3 failed\nsafe 36"},
	{schemata.Version{Mutant: "result", Text: change(`return "counter", nil`, `first, err := "mutant", errors.New("err"); name = first; return`)}, "2 mutant err one 3 failed\nsafe 36"},
	{schemata.Version{Mutant: "generic", Text: change("return one\n", "var none T\n\treturn none\n")}, "2 counter <nil>  3 failed\nsafe 36"},
	{schemata.Version{Mutant: "recursion", Text: change("1 + depth(n-1)", "2 + depth(n-1)")}, "2 counter <nil> one 6 failed\nsafe 36"},
	{schemata.Version{Mutant: "import", Text: change("\t\"fmt\"\n", "\t\"fmt\"\n\t\"strings\"\n", "return err.Error()", "return strings.ToUpper(err.Error())")}, "2 counter <nil> one 3 FAILED\nsafe 36"},
	{schemata.Version{Mutant: "one-import-less", Text: change("\t\"errors\"\n", "", `errors.New("failed")`, `fmt.Errorf("other")`)}, "2 counter <nil> one 3 other\nsafe 36"},
	{schemata.Version{Mutant: "two-functions", Text: change("return 0\n", "return 1\n", "return err.Error()", `return ""`)}, "2 counter <nil> one 4 \nsafe 36"},
	{schemata.Version{Mutant: "recovery", Text: change(`panic("safe")`, `panic("unsafe")`)}, "2 counter <nil> one 3 failed\nunsafe 36"},
	{schemata.Version{Mutant: "a-label", Text: change("\treturn line\n", "again:\n\tfor line > 0 {\n\t\tline = -1\n\t\tcontinue again\n\t}\n\treturn line\n")}, "2 counter <nil> one 3 failed\nsafe -1"},
	{schemata.Version{Mutant: "main", Text: change("\tadd(1, 2)\n", "\t_ = add\n")}, "0 counter <nil> one 3 failed\nsafe 36"},
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
	g.Expect(string(again)).To(Equal(string(combined)), "or each build would compile it again")

	binary := build(t, string(combined), string(schemata.Selector(name)))
	g.Expect(run(t, binary, "")).To(Equal("2 counter <nil> one 3 failed\nsafe 36"))
	for _, m := range mutants {
		g.Expect(run(t, binary, m.version.Mutant)).To(Equal(m.prints), m.version.Mutant)
	}
}

// The healthy text keeps its comments and its directives; that it keeps its line numbers, its own output shows.
func TestCombineKeepsTheText(t *testing.T) {
	g := NewWithT(t)
	combined, _, err := schemata.Combine([]byte(healthy), []schemata.Version{mutants[1].version, mutants[5].version})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(combined)).To(Equal(strings.NewReplacer(
		"package main\n", "package main; import \"strings\"\n",
		`error) { return "counter", nil }`, "error) { switch mutantActive {\n"+
			`case "no-names": { name = "mutant"; return }`+"\n}; /*line :17:63*/"+` return "counter", nil }`,
		"string { /* a comment */", "string { switch mutantActive {\n"+
			`case "import": { /* a comment */ return strings.ToUpper(err.Error()) }`+"\n}; /*line :40:34*/ /* a comment */",
	).Replace(healthy)))
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
		"one more initialization":    {"func plain", "func init() { clear(table) }\n\nfunc plain", "it adds func init"},
		"one more variable":          {"func plain", "var more = plain\n\nfunc plain", "it adds var more = plain"},
		"one more method":            {"func plain", "func (t thing) String() string { return \"\" }\n\nfunc plain", "it adds the method thing.String"},
		"one more function":          {"func plain", "func more() {}\n\nfunc plain", "it adds the function more"},
		"one more type":              {"func plain", "type more struct{}\n\nfunc plain", "it adds type more"},
		"an import for its effects":  {`_ "image/png"`, "_ \"image/png\"\n\t_ \"image/gif\"", "an import that is more than a name"},
		"no import for its effects":  {`_ "image/png"`, "", "an import that is more than a name"},
		"an import without its name": {`"embed"`, "\"embed\"\n\t. \"io\"", "an import that is more than a name"},
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
	directory := t.TempDir()
	args := []string{"build", "-o", filepath.Join(directory, "program")}
	for i, text := range files {
		path := filepath.Join(directory, fmt.Sprintf("file%d.go", i))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, strings.Join(files, "\n"))
	}
	return filepath.Join(directory, "program")
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
