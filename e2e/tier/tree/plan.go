package tree

import (
	"slices"
	"strings"
)

// Selection is what one `go test` runs.
type Selection struct {
	// Module is the directory of the module, relative to the repository's root.
	Module string
	// Packages are relative to the module, such as "./docs", and sorted.
	Packages []string
	// Run is the regular expression for -run; empty means all tests.
	Run string
}

// Plan returns what to run for a tier, the root module first: the tests that belong to it, and none that belong to another. For the
// default tier, it returns packages without -run, because marked tests skip themselves. What something else runs is left out.
func Plan(tests []Test, tier string) []Selection {
	var marked Selection // tests of the root module that bear marks
	var names []string
	whole := map[string]*Selection{}
	for _, t := range tests {
		w, isWhole := wholeOf(t.Dir)
		if t.Tier != tier || w.By != "" {
			continue
		}
		s := &marked
		if isWhole {
			if whole[w.Dir] == nil {
				whole[w.Dir] = &Selection{}
			}
			s = whole[w.Dir]
		} else if tier != "test" {
			names = append(names, t.Name)
		}
		s.Module = t.Module
		s.Packages = append(s.Packages, within(t.Module, t.Dir))
	}
	var plan []Selection
	if len(names) > 0 {
		marked.Run = "^(" + strings.Join(unique(names), "|") + ")$"
	}
	if len(marked.Packages) > 0 {
		plan = append(plan, marked)
	}
	for _, w := range wholes {
		if s := whole[w.Dir]; s != nil {
			plan = append(plan, *s)
		}
	}
	for i := range plan {
		plan[i].Packages = unique(plan[i].Packages)
	}
	return plan
}

// within returns the pattern of a package in its module.
func within(module, dir string) string {
	if module == dir {
		return "."
	}
	if module != "." {
		dir = strings.TrimPrefix(dir, module+"/")
	}
	return "./" + dir
}

func unique(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}
