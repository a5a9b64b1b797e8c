package chapter

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Own are a chapter's files and directories that are not part of its operator.
var Own = []string{"README.md", File, "GNUmakefile", "start/", "test/"}

// repository is how the import paths of operators begin.
const repository = "operator-testbed/"

// built are directories that the targets of a Makefile make.
var built = []string{"bin/", "dist/"}

// Code returns the files of a chapter's operator, by their paths in its directory. The text of two chapters is the same where
// they differ in nothing but the chapter's name.
func (c Chapter) Code(tutorial string) (map[string][]byte, error) {
	// A chapter may be called like a package of Go's, such as testing, so its name alone means nothing.
	directory, named, neutral := filepath.Join(tutorial, c.Name), "tutorial/"+c.Name, "tutorial/NN-name"
	if c.Operator != "" {
		directory, named, neutral = filepath.Join(tutorial, "..", c.Operator), repository+c.Operator, repository+"tutorial/NN-name"
	}
	code := map[string][]byte{}
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := filepath.Rel(directory, path)
		if err != nil {
			return err
		}
		file = filepath.ToSlash(file)
		if slices.ContainsFunc(slices.Concat(Own, built), func(skipped string) bool { return matches(skipped, file) }) {
			return nil
		}
		text, err := os.ReadFile(path)
		code[file] = bytes.ReplaceAll(text, []byte(named), []byte(neutral))
		return err
	})
	return code, err
}

// Differences says in which files two chapters' operators differ, as a sorted list of paths.
func Differences(before, after map[string][]byte) []string {
	differ := map[string]bool{}
	for file, text := range after {
		if old, had := before[file]; !had || !bytes.Equal(old, text) {
			differ[file] = true
		}
	}
	for file := range before {
		if _, has := after[file]; !has {
			differ[file] = true
		}
	}
	return slices.Sorted(maps.Keys(differ))
}

// Wrong returns a sentence for each file that differs and is not listed, or listed in two steps, and for each that is listed and
// does not differ.
func (c Chapter) Wrong(differences []string) []string {
	var wrong []string
	for _, file := range differences {
		if !matchesAny(c.allChanges(), file) {
			wrong = append(wrong, fmt.Sprintf("%s differs from %s in %s: list it under changes or steps in its %s, or make the two equal", c.Name, c.BuildsOn, file, File))
		}
		var in []string
		for _, step := range c.Steps {
			if step.Has(file) {
				in = append(in, step.Title)
			}
		}
		if len(in) > 1 {
			wrong = append(wrong, fmt.Sprintf("%s has %s in the steps %q of its %s: list it in one of them", c.Name, file, in, File))
		}
	}
	for _, change := range c.allChanges() {
		if !slices.ContainsFunc(differences, func(file string) bool { return matches(change, file) }) {
			wrong = append(wrong, fmt.Sprintf("%s lists the change of %s, which is the same as in %s: leave it out", c.Name, strings.TrimSuffix(change, "/"), c.BuildsOn))
		}
	}
	return wrong
}
