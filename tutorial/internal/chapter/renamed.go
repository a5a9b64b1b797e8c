package chapter

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// Renamed returns the present name of a chapter of the repository at root, or of a project in one, that was once called name. It returns
// "" for every other name. The list of moved pages, from which the site redirects the former addresses, is the only list of former names.
func Renamed(root, name string) string {
	text, err := os.ReadFile(filepath.Join(root, "docs", "moved.yaml"))
	var moved map[string]string
	if err != nil || yaml.Unmarshal(text, &moved) != nil {
		return "" // which the test of the site reports
	}
	renamed, _ := strings.CutSuffix(moved["tutorial/"+name+"/README.md"], "/README.md")
	return strings.TrimPrefix(renamed, "tutorial/")
}

// Current returns the present name of a chapter that was once called name, and name itself for every other name.
func Current(root, name string) string { return cmp.Or(Renamed(root, name), name) }

// RenamedError returns an error with the present name of a chapter that was once called stage, and nil for every other name.
func RenamedError(root, stage string) error {
	if renamed := Renamed(root, stage); renamed != "" {
		return fmt.Errorf("STAGE=%s is now %s", stage, renamed)
	}
	return nil
}
