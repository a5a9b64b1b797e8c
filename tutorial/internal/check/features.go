package check

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

// Features returns the sorted names of the test functions of the suite in a directory.
func Features(directory string) ([]string, error) {
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

// Only returns the features that a regular expression chooses, as go test's -run does. It is an error if it chooses none, because a
// suite that runs nothing passes.
func Only(only string, features []string) ([]string, error) {
	first, _, _ := strings.Cut(only, "/")
	chosen, err := regexp.Compile(first)
	if err != nil {
		return nil, fmt.Errorf("ONLY=%s is not a regular expression (%w): give the name of a feature, such as %s", only, err, features[0])
	}
	found := slices.DeleteFunc(slices.Clone(features), func(name string) bool { return !chosen.MatchString(name) })
	if len(found) == 0 {
		return nil, fmt.Errorf("ONLY=%s matches none of the features: use one of %s", only, strings.Join(features, ", "))
	}
	return found, nil
}
