package chapter

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// exercise is an entry of the numbered list of exercises.
var exercise = regexp.MustCompile(`(?m)^[0-9]+\. (.+)$`)

// Exercises are the tasks at the end of the chapter's text, without what makes a part of them bold.
func (c Chapter) Exercises(tutorial string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(tutorial, c.Name, "README.md"))
	if err != nil {
		return nil, err
	}
	_, section, _ := strings.Cut(string(text), "\n## Exercises\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var tasks []string
	for _, match := range exercise.FindAllStringSubmatch(section, -1) {
		tasks = append(tasks, strings.ReplaceAll(match[1], "**", ""))
	}
	return tasks, nil
}
