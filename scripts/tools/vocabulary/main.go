// Command vocabulary finds phrases that readers stumble over, and prints the field's words for them: make lint.
//
// It reads Markdown, the comments, messages and declared names of Go files, and the comments of shell scripts, Makefiles and YAML.
// Exempt are quotations, in quotes or backquotes; flags, variables, paths and links; messages of a single word, which are names of
// something; the names of tests, which the documentation quotes; raw strings of YAML or JSON; blocks of code; generated files.
package main

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

func main() {
	root := flag.String("C", ".", "the root of the repository")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: vocabulary [-C dir] file or directory ...")
		flag.PrintDefaults()
	}
	flag.Parse()
	found, err := run(os.DirFS(*root), flag.Args(), os.Stdout)
	if err != nil {
		fmt.Fprintf(os.Stderr, "vocabulary: %v\n", err)
	}
	if err != nil || found > 0 {
		os.Exit(1)
	}
}

// skipped are directories without text of ours, and the one that names the phrases.
var skipped = map[string]bool{".git": true, "artifacts": true, "bin": true, "testdata": true, "vocabulary": true}

// run prints the findings in the files below the paths to w, and returns how many there are.
func run(root fs.FS, paths []string, w io.Writer) (found int, err error) {
	words, err := readWords(wordsYAML)
	if err != nil {
		return 0, err
	}
	for _, p := range paths {
		err := fs.WalkDir(root, p, func(file string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && skipped[entry.Name()]:
				return fs.SkipDir
			case !entry.Type().IsRegular():
				return nil
			}
			passages, err := read(root, file)
			if err != nil {
				return err
			}
			rules := words.Everywhere
			if path.Ext(file) != ".md" {
				rules = words.inCode()
			}
			for _, passage := range passages {
				for _, finding := range passage.check(rules) {
					fmt.Fprintf(w, "%s:%d: %q: write %q instead\n", file, finding.line, finding.phrase, finding.write)
					found++
				}
			}
			return nil
		})
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// read returns the prose in a file: its kind is in its name, or in its first line.
func read(root fs.FS, file string) ([]passage, error) {
	name, extension := path.Base(file), path.Ext(file)
	switch extension {
	case "", ".go", ".md", ".mk", ".sh", ".yaml", ".yml":
	default:
		return nil, nil
	}
	source, err := fs.ReadFile(root, file)
	switch {
	case err != nil:
		return nil, err
	case extension == ".go":
		return goPassages(file, source)
	case extension == ".md":
		return markdownPassages(source), nil
	case extension != "" || name == "Makefile" || script.Match(source):
		return commentPassages(source), nil
	default:
		return nil, nil
	}
}
