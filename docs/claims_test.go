package docs_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/tier"
)

// claim is a sentence about another project that no block of its page shows.
type claim struct {
	// Page is where it stands, and Says is a part of it that stands there once or more.
	Page string `json:"page"`
	Says string `json:"says"`
	// Source is a module's path and, in the module, a file that has Has. Version is the module's, if the page names one.
	Source  string `json:"source,omitempty"`
	Has     string `json:"has,omitempty"`
	Version string `json:"version,omitempty"`
	// Proof is a file of this repository that shows it.
	Proof string `json:"proof,omitempty"`
	// Link is a page that says it, to which the page leads.
	Link string `json:"link,omitempty"`
	// Ours says why it is not about another project.
	Ours string `json:"ours,omitempty"`
}

const claimsFile = "docs/claims.yaml"

func claims(t *testing.T) []claim {
	t.Helper()
	var all []claim
	if err := yaml.UnmarshalStrict([]byte(read(t, claimsFile)), &all); err != nil {
		t.Fatalf("read %s: %v", claimsFile, err)
	}
	return all
}

// singleSpaced returns a text with one space in place of all white space, so that neither line breaks nor alignment matter.
func singleSpaced(text string) string { return strings.Join(strings.Fields(text), " ") }

// taught are the pages that explain other projects to a reader: the chapters, and these.
var taught = []string{
	"docs/debugging.md", "docs/envtest.md", "docs/glossary.md", "docs/older-posts.md", "docs/other-ways.md",
	"docs/owner-reference-permissions.md", "docs/permissions-for-people.md", "docs/sdk-problems.md", "docs/stuck-in-deletion.md", "docs/write-status-safely.md",
}

var (
	// fencedOrHidden matches what is not prose.
	fencedOrHidden = regexp.MustCompile("(?s)<!--.*?-->|(?:^|\n)```.*?\n```(?:\n|$)")
	// likelyClaim matches what gets wrong with time: a version of another project, a default, a year, and a number with a unit.
	likelyClaim = regexp.MustCompile(`\b(?:Kubernetes|controller-runtime|kubebuilder|operator-sdk|Operator SDK|client-go|Go) v?\d+\.\d+` +
		`|\b(?:[Bb]y default|the default|[Dd]eprecated)\b|\b(?:[Ss]ince|[Uu]ntil|[Bb]efore|[Ii]n) 20\d\d\b` +
		`|\b\d+ (?:%|(?:ms|s|seconds|minutes|hours|days)\b)`)
	// otherVersion matches a version of another project. Any page may name one.
	otherVersion = regexp.MustCompile(`\b(?:Docker|Helm|Kubernetes|Landlock|Linux|OLM|OpenShift|Operator SDK|Velero|controller-runtime|kubebuilder)` +
		` v?\d+(?:\.\d+)*\b|\b(?:[Aa]s of|[Ss]ince) \[?v\d`)
	// readingTime matches what a chapter says about itself.
	readingTime = regexp.MustCompile(`takes about \d+ minutes`)
)

// likelyClaims returns the sentences and cells of a page that match one of the patterns, and are probably about another project.
func likelyClaims(page string, patterns ...*regexp.Regexp) []string {
	var found []string
	for line := range strings.Lines(fencedOrHidden.ReplaceAllString(page, "")) {
		for _, sentence := range regexp.MustCompile(`(?:[.:!?]\)?|\|) +`).Split(strings.TrimSpace(line), -1) {
			if matchesAny(readingTime.ReplaceAllString(sentence, ""), patterns...) {
				found = append(found, sentence)
			}
		}
	}
	return found
}

// matchesAny reports whether one of the patterns matches the text.
func matchesAny(text string, patterns ...*regexp.Regexp) bool {
	return slices.ContainsFunc(patterns, func(pattern *regexp.Regexp) bool { return pattern.MatchString(text) })
}

// Each sentence that looks like a claim about another project is in the list, and each entry of the list stands on its page.
func TestClaimsAreListed(t *testing.T) {
	said := map[string][]string{}
	for _, c := range claims(t) {
		page := singleSpaced(read(t, c.Page))
		if !strings.Contains(page, singleSpaced(c.Says)) {
			t.Errorf("%s no longer says %q: correct %s", c.Page, c.Says, claimsFile)
		}
		kinds := slices.DeleteFunc([]string{c.Source, c.Proof, c.Link, c.Ours}, func(kind string) bool { return kind == "" })
		if len(kinds) != 1 || (c.Source == "") != (c.Has == "") {
			t.Errorf("%s: %q needs either a source with what it has, a proof, a link, or the reason why it is ours", claimsFile, c.Says)
		}
		if c.Proof != "" {
			read(t, c.Proof)
		}
		if !strings.Contains(page, c.Link) {
			t.Errorf("%s says %q without the link to %s", c.Page, c.Says, c.Link)
		}
		said[c.Page] = append(said[c.Page], singleSpaced(c.Says))
	}
	patterns := map[string][]*regexp.Regexp{}
	for _, page := range slices.Concat([]string{"README.md", "tutorial/README.md"}, glob(t, "docs/*.md"), glob(t, "tutorial/*/README.md")) {
		patterns[page] = []*regexp.Regexp{otherVersion}
	}
	for _, page := range append(glob(t, "tutorial/*/README.md"), taught...) {
		patterns[page] = append(patterns[page], likelyClaim)
	}
	for page := range patterns {
		for _, sentence := range likelyClaims(read(t, page), patterns[page]...) {
			sentence := singleSpaced(sentence)
			known := slices.ContainsFunc(said[page], func(s string) bool {
				return strings.Contains(sentence, s) || strings.Contains(s, sentence) || shared(sentence, s)
			})
			if !known {
				t.Errorf("%s: check this against its source, and add it to %s:\n\t%s", page, claimsFile, sentence)
			}
		}
	}
}

// shared reports whether an entry covers a sentence that it continues into, or begins in: a part with a likely claim is in both.
func shared(sentence, entry string) bool {
	for _, part := range regexp.MustCompile(`(?:[.:!?]\)?|\|) +`).Split(entry, -1) {
		if matchesAny(part, likelyClaim, otherVersion) && strings.Contains(sentence, strings.TrimRight(part, ".:")) {
			return true
		}
	}
	return false
}

func TestLikelyClaims(t *testing.T) {
	for text, want := range map[string]int{
		"It is stable since Kubernetes 1.30. It works.":   1,
		"The default is 1.":                               0,
		"The cache is refreshed every 10 hours. Really.":  1,
		"This takes about 35 minutes.":                    0,
		"In 2019 it was so | and by default it is so |":   2,
		"```yaml\na: 10 s by default\n```\n":              0,
		"<!-- by default -->\nNothing.":                   0,
		"- `Forget` resets it, so that it is 5 ms again.": 1,
	} {
		if got := likelyClaims(text, likelyClaim); len(got) != want {
			t.Errorf("%q: got %q, expected %d", text, got, want)
		}
	}
	for text, want := range map[string]int{
		"From Linux 6.7 on, it is refused. It works.":      1,
		"Helm 4 adopts them | as of v1.42.3, it has two |": 2,
		"Helm adopts them. It runs on Linux. 4 do not.":    0,
		"It needs Linux on 2 cores, and Docker.":           0,
		"```text\nDocker 29\n```\n":                        0,
	} {
		if got := likelyClaims(text, otherVersion); len(got) != want {
			t.Errorf("%q: got %q, expected %d", text, got, want)
		}
	}
}

// Each claim with a source has it in the version that a go.mod of the repository requires. Sources of modules that are not there are
// downloaded.
func TestClaimsHaveSources(t *testing.T) {
	tier.All(t)
	versions, requiredBy := map[string]string{}, map[string]string{}
	for _, file := range []string{"scripts/sdk/go.mod", "scripts/helm/go.mod", "scripts/tools/go.mod", "kind/kubernetes/go.mod", "go.mod"} {
		mod := parsed(t, file)
		for _, r := range mod.Require {
			versions[r.Mod.Path], requiredBy[r.Mod.Path] = r.Mod.Version, filepath.Dir(file)
		}
		for _, r := range mod.Replace {
			if r.Old.Path == r.New.Path {
				versions[r.Old.Path] = r.New.Version
			}
		}
	}
	directories := map[string]string{}
	for _, c := range claims(t) {
		if c.Source == "" {
			continue
		}
		file, isStd := strings.CutPrefix(c.Source, "std/")
		if isStd {
			file = filepath.Join(goRoot(t), "src", file)
		} else {
			module := longestPrefix(versions, c.Source)
			if module == "" {
				t.Errorf("%s: no go.mod requires the module of %s", claimsFile, c.Source)
				continue
			}
			if c.Version != "" && c.Version != versions[module] {
				t.Errorf("%s says %q about %s %s, but %s requires %s", c.Page, c.Says, module, c.Version, requiredBy[module], versions[module])
			}
			if directories[module] == "" {
				directories[module] = moduleDirectory(t, requiredBy[module], module, versions[module])
			}
			file = filepath.Join(directories[module], strings.TrimPrefix(c.Source, module))
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%s: %q: %v", c.Page, c.Says, err)
		} else if !strings.Contains(singleSpaced(string(text)), singleSpaced(c.Has)) {
			t.Errorf("%s: %q: its source %s no longer has\n%s", c.Page, c.Says, file, c.Has)
		}
	}
}

// goRoot returns where Go's own source is. runtime.GOROOT is empty in a test that was built with -trimpath.
func goRoot(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// longestPrefix returns the module that a path is in.
func longestPrefix(versions map[string]string, path string) string {
	longest := ""
	for module := range versions {
		if strings.HasPrefix(path, module+"/") && len(module) > len(longest) {
			longest = module
		}
	}
	return longest
}

// moduleDirectory returns where the source of a module is in the module cache. from is the directory of a go.mod that requires it.
func moduleDirectory(t *testing.T, from, module, version string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module+"@"+version)
	command.Dir = filepath.Join(repository, from)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("download %s %s: %v\n%s", module, version, err, out)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil || found.Dir == "" {
		t.Fatalf("go mod download %s printed %q, %v", module, out, err)
	}
	return found.Dir
}
