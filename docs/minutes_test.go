package docs_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// timesPage is where readers find how long a command takes. README has the two that everybody types first.
const timesPage = "docs/tests.md#how-long-they-take"

var (
	// commandInText matches a command that has a row there, or could have one, and what is said of one that was named before.
	commandInText = regexp.MustCompile("`(?:[A-Z_]+=\\S+ )*(?:make |scripts/|\\.ci/run|go test)[^`]*`|(?i)\\bfirst time\\b")
	// minutesInText matches a number of minutes or hours.
	minutesInText = regexp.MustCompile(`(?i)\b(?:\d[\d.]*|an?|half an?|a quarter of an|few|some|several|one|two|three|four|five|six|seven|eight|nine|ten|twenty|thirty)(?: to \S+| or two| of processor time)?[ -](?:minutes?|hours?)\b`)
	// sentenceEnds matches where a sentence ends within a paragraph.
	sentenceEnds = regexp.MustCompile(`[.:;!?] +`)
)

// otherMinutes are sentences about a command whose minutes are not how long the command takes.
var otherMinutes = map[string]string{
	"kind/README.md: `make node-image` with everything compiled, but no root file systems": "a measurement of parts of this command, on the machine that the page names",
	"kind/README.md: If that is not set, it uses the `kindest/node` that kind pins":        "a time limit",
	"docs/decisions/0016-four-parts-and-libraries-where-they-do-better.md: ":               "about what was weighed then",
}

// minutesAboutCommands returns what a page says about how long commands take, without what is generated.
func minutesAboutCommands(page string) []string {
	var found []string
	fenced, generatedTable := false, false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
			fenced = !fenced
		case strings.HasPrefix(line, "<!-- The table is generated"):
			generatedTable = true
		case line == strings.TrimSpace(tableEnds):
			generatedTable = false
		}
		if fenced || generatedTable {
			continue
		}
		units := sentenceEnds.Split(line, -1)
		if strings.HasPrefix(line, "|") {
			units = []string{line}
		}
		for _, unit := range units {
			if commandInText.MatchString(unit) && minutesInText.MatchString(unit) {
				found = append(found, unit)
			}
		}
	}
	return found
}

// TestMinutesAreInOnePlace looks for times of commands in prose. They are wrong as soon as something gets faster or slower, and are then
// hard to find.
func TestMinutesAreInOnePlace(t *testing.T) {
	for _, page := range pages(t) {
		for _, sentence := range minutesAboutCommands(read(t, page)) {
			place := fmt.Sprintf("%s: %s", page, strings.Trim(sentence, "| "))
			if !slices.ContainsFunc(keys(otherMinutes), func(prefix string) bool { return strings.HasPrefix(place, prefix) }) {
				t.Errorf("%s\n\tsays how long a command takes: write that to scripts/runner/times/measured.json, and link %s", place, timesPage)
			}
		}
	}
}

func keys(m map[string]string) (all []string) {
	for key := range m {
		all = append(all, key)
	}
	return all
}

func TestMinutesAboutCommands(t *testing.T) {
	for text, want := range map[string]int{
		"`make test` takes 17 to 28 minutes on 2 cores.":                                                            1,
		"| `make mutation` | an hour or two |":                                                                      1,
		"The first `make demo` compiles Kubernetes, which takes ten minutes.":                                       1,
		"`.ci/run` is done in a quarter of an hour":                                                                 1,
		"Both compile Hugo the first time, which takes a minute or two.":                                            1,
		"`make demo` takes 5 seconds.":                                                                              0,
		"`make up` starts a cluster. Reading this page takes ten minutes.":                                          0,
		"The operator gives up after 10 minutes (`--progress-deadline`).":                                           0,
		"```console\n$ make demo # two minutes\n```\n`x`":                                                           0,
		"<!-- The table is generated from x: go test ./docs -update -->\n| `make test` | 5 minutes |\n" + tableEnds: 0,
	} {
		if got := minutesAboutCommands(text); len(got) != want {
			t.Errorf("%q: got %q, expected %d", text, got, want)
		}
	}
}
