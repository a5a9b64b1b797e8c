package docs_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const renovateFile = ".github/renovate.json"

// renovate is what the tests need of Renovate's configuration.
type renovate struct {
	PackageRules []struct {
		MatchDepTypes     []string
		MatchPackageNames []string
		Enabled           *bool
	}
	CustomManagers []customManager
}

// customManager finds versions in files that Renovate does not understand.
type customManager struct {
	Description         string
	ManagerFilePatterns []string
	MatchStrings        []string
	DepName             string `json:"depNameTemplate"`
}

func readRenovate(t *testing.T) renovate {
	t.Helper()
	var config renovate
	if err := json.Unmarshal([]byte(read(t, renovateFile)), &config); err != nil {
		t.Fatalf("%s: %v", renovateFile, err)
	}
	if len(config.CustomManagers) == 0 {
		t.Fatalf("%s has no custom managers", renovateFile)
	}
	return config
}

// pins returns what the manager finds in the files. Each of its file patterns and match strings must find something. Renovate
// uses RE2, whose syntax is Go's.
func (m customManager) pins(t *testing.T, files []string) []pin {
	t.Helper()
	var found []pin
	matched := map[string]bool{}
	for _, file := range files {
		for _, pattern := range m.ManagerFilePatterns {
			if !regexp.MustCompile(strings.Trim(pattern, "/")).MatchString(file) {
				continue
			}
			text := read(t, file)
			for _, match := range m.MatchStrings {
				for _, version := range regexp.MustCompile(match).FindAllStringSubmatch(text, -1) {
					matched[pattern], matched[match] = true, true
					found = append(found, pin{m.DepName, file, version[1]})
				}
			}
		}
	}
	for _, pattern := range slices.Concat(m.ManagerFilePatterns, m.MatchStrings) {
		if !matched[pattern] {
			t.Errorf("%s: %q finds no version: %s", renovateFile, m.Description, pattern)
		}
	}
	return found
}

// TestRenovateUpdatesTools requires that Renovate updates the module of each tool line, although go.mod marks it as indirect.
func TestRenovateUpdatesTools(t *testing.T) {
	var enabled, tools []string
	for _, rule := range readRenovate(t).PackageRules {
		if slices.Contains(rule.MatchDepTypes, "indirect") && rule.Enabled != nil && *rule.Enabled {
			enabled = append(enabled, rule.MatchPackageNames...)
		}
	}
	for _, file := range goMods(t) {
		for _, r := range deliberate(t, file) {
			if r.tool {
				tools = append(tools, r.Path)
			}
		}
	}
	slices.Sort(tools)
	if tools = slices.Compact(tools); !slices.Equal(enabled, tools) {
		t.Errorf("%s enables updates of indirect requirements for\n%s\nexpected the modules of the tool lines\n%s", renovateFile, strings.Join(enabled, "\n"), strings.Join(tools, "\n"))
	}
}
