// Package plan lists the parts of make test, make test-all, make e2e and .ci/run, in plans.go, and those of make nightly, in nightly.go.
package plan

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A Plan is what one command runs.
type Plan struct {
	// Name is printed in the last line, and is the directory of the plan's JUnit files.
	Name string
	// Tiers are values of TESTBED_TIER: the plan runs all tests of these tiers, which its last lines are about. A plan without, which is not
	// about the tests of the repository, has no such lines.
	Tiers []string
	// Partial is true if parts were left out, or if the plan is about one chapter: it has not run all tests of its tiers.
	Partial bool
	// Chapter is true if the plan is about one chapter, whose reader does not ask what else there is to prove.
	Chapter bool
	// Nightly keeps a record of when each part has passed.
	Nightly bool
	// About is printed first.
	About []string
	// AtOnce is how many parts run at the same time, in the order of the list as far as they do not need each other. 0 means 1.
	AtOnce int
	// KeepGoing runs the other parts after a failure, except those that need the part that has failed. Without it, a failure
	// interrupts them.
	KeepGoing bool
	// Env has variables, as NAME=value, for all parts.
	Env   []string
	Parts []Part
}

// A Part is one step of a Plan: one of Command, Tests and Do.
type Part struct {
	// Name is unique in the plan.
	Name string
	// Needs names the parts that must have passed before.
	Needs []string
	// Dir is the directory to run in, relative to the root of the repository.
	Dir string
	// Env has variables, as NAME=value.
	Env []string
	// In is a command that runs the one of this part, such as one that brings a cluster up for it. It passes standard output through.
	In []string
	// Sets names a variable. Its value for the parts that start afterwards is the last line that this part prints.
	Sets string
	// Finally is a command that runs when the plan ends, however it ends, if this part has started.
	Finally []string

	Command []string
	Tests   *Tests
	Do      func(ctx context.Context, out io.Writer) error
}

// Tests is a call of go test.
type Tests struct {
	Flags    []string
	Packages []string
}

// A Request is what the user asks for.
type Request struct {
	// Root is the root of the repository.
	Root string
	// Stage is the name of a chapter, or empty.
	Stage string
	// Cluster is the kind of cluster for suites.
	Cluster string
}

// Names returns the names of all plans.
func Names() []string { return slices.Sorted(maps.Keys(plans)) }

// For returns the plan with this name. Of its parts, it keeps those that only names and those that these need; without names, it keeps all.
func For(name string, request Request, only []string) (Plan, error) {
	of, found := plans[name]
	if !found {
		return Plan{}, fmt.Errorf("there is no plan %s: use one of %s", name, strings.Join(Names(), ", "))
	}
	p, err := of(request)
	if err != nil {
		return Plan{}, err
	}
	if err := p.check(); err != nil {
		return Plan{}, err
	}
	return p.only(only)
}

// only leaves parts out of a plan.
func (p Plan) only(names []string) (Plan, error) {
	if len(names) == 0 {
		return p, nil
	}
	p.Partial = true
	wanted := map[string]bool{}
	for _, name := range names {
		if !slices.ContainsFunc(p.Parts, func(part Part) bool { return part.Name == name }) {
			return Plan{}, fmt.Errorf("%s has no part %q: use one of %s", p.Name, name, strings.Join(p.names(), ", "))
		}
		wanted[name] = true
	}
	// What a part needs comes before it.
	for _, part := range slices.Backward(p.Parts) {
		if wanted[part.Name] {
			for _, need := range part.Needs {
				wanted[need] = true
			}
		}
	}
	p.Parts = slices.DeleteFunc(slices.Clone(p.Parts), func(part Part) bool { return !wanted[part.Name] })
	return p, nil
}

// names returns the names of all parts, quoted where they have spaces.
func (p Plan) names() []string {
	var names []string
	for _, part := range p.Parts {
		names = append(names, fmt.Sprintf("%q", part.Name))
	}
	return names
}

// check returns an error if no run could do what the plan says.
func (p Plan) check() error {
	before := map[string]bool{}
	for _, part := range p.Parts {
		ways := 0
		for _, has := range []bool{len(part.Command) > 0, part.Tests != nil, part.Do != nil} {
			if has {
				ways++
			}
		}
		switch {
		case part.Name == "" || before[part.Name]:
			return fmt.Errorf("plan %s: the name %q of a part is not unique", p.Name, part.Name)
		case ways != 1:
			return fmt.Errorf("plan %s: part %q has %d of Command, Tests and Do, and needs one", p.Name, part.Name, ways)
		}
		for _, need := range part.Needs {
			if !before[need] {
				return fmt.Errorf("plan %s: part %q needs %q, which no part before it is called", p.Name, part.Name, need)
			}
		}
		before[part.Name] = true
	}
	return nil
}
