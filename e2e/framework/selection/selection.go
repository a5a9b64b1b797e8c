// Package selection selects the features that a suite leaves out on a cluster whose pods really run, because a cluster with simulated pods
// shows the same in a fraction of the time.
package selection

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Selection is the content of a file about the features that need no real pods. It names a feature by its test function. A feature that the
// file does not name runs on every cluster.
type Selection struct {
	// Both are features that nevertheless run on both kinds of cluster: they show that the two agree.
	Both []Group `json:"both"`
	// Simulated are features for which simulated pods are enough.
	Simulated []Group `json:"simulated"`
}

// Group is a list of features with the same reason.
type Group struct {
	// Because is the reason: a clause that continues after "because".
	Because string `json:"because"`
	// Features are names of test functions, by the name of their suite.
	Features map[string][]string `json:"features"`
}

// Read reads a file. It is an error if a group gives no reason, or if a feature is in two groups.
func Read(path string) (*Selection, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &Selection{}
	if err := yaml.UnmarshalStrict(content, s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	seen := map[string]bool{}
	for _, group := range slices.Concat(s.Both, s.Simulated) {
		if strings.TrimSpace(group.Because) == "" {
			return nil, fmt.Errorf("%s: a group gives no reason: say in because why its features, such as %s, are in it", path, group.first())
		}
		for suite, tests := range group.Features {
			for _, test := range tests {
				name := suite + " " + test
				if seen[name] {
					return nil, fmt.Errorf("%s: %s of the suite %s is in two groups: leave it in one", path, test, suite)
				}
				seen[name] = true
			}
		}
	}
	return s, nil
}

// first names a feature of the group.
func (g Group) first() string {
	for _, suite := range slices.Sorted(maps.Keys(g.Features)) {
		for _, test := range g.Features[suite] {
			return test + " of " + suite
		}
	}
	return "none"
}

// LeftOut returns why a suite leaves out the features of a test on clusters whose pods really run. Empty means that they run.
func (s *Selection) LeftOut(suite, test string) string {
	if s == nil {
		return ""
	}
	return find(s.Simulated, suite, test)
}

// RunsOnBoth returns why the features of a test run on both kinds of cluster although simulated pods are enough for them, or "" if the file
// does not name them.
func (s *Selection) RunsOnBoth(suite, test string) string { return find(s.Both, suite, test) }

func find(groups []Group, suite, test string) string {
	for _, group := range groups {
		if slices.Contains(group.Features[suite], test) {
			return group.Because
		}
	}
	return ""
}

// Names returns the names of the tests that the file has for a suite.
func (s *Selection) Names(suite string) []string {
	var names []string
	for _, group := range slices.Concat(s.Both, s.Simulated) {
		names = append(names, group.Features[suite]...)
	}
	slices.Sort(names)
	return names
}

// Suites returns the names of the suites that the file names.
func (s *Selection) Suites() []string {
	suites := map[string]bool{}
	for _, group := range slices.Concat(s.Both, s.Simulated) {
		for suite := range group.Features {
			suites[suite] = true
		}
	}
	return slices.Sorted(maps.Keys(suites))
}
