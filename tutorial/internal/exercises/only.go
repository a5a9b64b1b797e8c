package exercises

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// checkOnly returns an error if only, which chooses features of the suite in a directory as go test's -run does, chooses none: a
// suite that runs nothing passes.
func checkOnly(directory, only string) error {
	names, err := featuresIn(directory)
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(only, "/")
	chosen, err := regexp.Compile(first)
	if err != nil {
		return fmt.Errorf("ONLY=%s is not a regular expression (%w): give the name of a feature, such as %s", only, err, names[0])
	}
	if !slices.ContainsFunc(names, chosen.MatchString) {
		return fmt.Errorf("ONLY=%s matches none of the features: use one of %s", only, strings.Join(names, ", "))
	}
	return nil
}

// featuresIn returns the sorted names of the tests of the suite in a directory.
func featuresIn(directory string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(directory, "*_test.go"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, declaration := range parsed.Decls {
			function, isFunction := declaration.(*ast.FuncDecl)
			if isFunction && function.Recv == nil && strings.HasPrefix(function.Name.Name, "Test") && function.Name.Name != "TestMain" {
				names = append(names, function.Name.Name)
			}
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no feature in %s", directory)
	}
	slices.Sort(names)
	return names, nil
}
