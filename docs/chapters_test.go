package docs_test

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// described is what the index of the tutorial shows of a chapter.yaml.
type described struct {
	Name     string `json:"-"`
	Title    string `json:"title"`
	Outcome  string `json:"outcome"`
	Track    string `json:"track"`
	BuildsOn string `json:"buildsOn"`
	After    string `json:"after"`
	Minutes  int    `json:"minutes"`
	Needs    string `json:"needs"`
}

// id names the chapter in a diagram.
func (d described) id() string { return "c" + strings.ReplaceAll(d.Name, "-", "") }

// chapters returns the chapters in their order: those with a number by it, and each of the others after the one that it names, or first.
func chapters(t *testing.T) []described {
	t.Helper()
	var all []described
	index := func(name string) int {
		return slices.IndexFunc(all, func(d described) bool { return d.Name == name })
	}
	files := glob(t, "tutorial/*/chapter.yaml")
	slices.Sort(files) // those with a number are before the others
	for _, file := range files {
		d := described{Name: path.Base(path.Dir(file))}
		if err := yaml.Unmarshal([]byte(read(t, file)), &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if before := index(d.BuildsOn); d.Track == "" && before >= 0 {
			d.Track = all[before].Track
		}
		if !slices.Contains(tracks, d.Track) {
			t.Errorf("%s: the track is %q, and that of the chapter that it builds on, too: give it one of %q", file, d.Track, tracks)
		}
		at := len(all)
		if shortName(d.Name) == d.Name {
			at = index(d.After) + 1
		}
		all = slices.Insert(all, at, d)
	}
	return all
}

// tracks are the parts of the tutorial, in their order on its map.
var tracks = []string{"build", "operate", "under the hood"}

// TestTutorialIndex compares the table and the map of the tutorial's index with the chapters.
func TestTutorialIndex(t *testing.T) {
	const page, from = "../tutorial/README.md", "the files chapter.yaml"
	all := chapters(t)
	var table, diagram, arrows strings.Builder
	table.WriteString("| chapter | track | you can then | minutes | needs |\n|---|---|---|---|---|\n")
	for _, d := range all {
		needs := "Go, make, git"
		if d.Needs == "kind" {
			needs += ", Docker"
		}
		fmt.Fprintf(&table, "| [%s](%[1]s/README.md) | %s | %s | %d | %s |\n", d.Name, d.Track, d.Outcome, d.Minutes, needs)
	}
	generated(t, page, from, table.String())

	diagram.WriteString("```mermaid\nflowchart TD\n")
	for i, track := range tracks {
		fmt.Fprintf(&diagram, "    subgraph track%d [%s]\n", i, track)
		for _, d := range all {
			if d.Track == track {
				number := strings.TrimPrefix(shortName(d.Name)+" ", d.Name+" ")
				fmt.Fprintf(&diagram, "        %s[\"%s%s<br/>%d min\"]\n", d.id(), number, d.Title, d.Minutes)
			}
		}
		diagram.WriteString("    end\n")
	}
	arrow := func(from, kind string, to described) {
		if from != "" {
			fmt.Fprintf(&arrows, "    %s %s %s\n", described{Name: from}.id(), kind, to.id())
		}
	}
	for _, d := range all {
		switch numbered := shortName(d.Name) != d.Name; {
		case !numbered || d.After == "":
			arrow(d.BuildsOn, "-->", d)
		default:
			arrow(d.After, "-->", d)
			arrow(d.BuildsOn, "-.->", d)
		}
	}
	arrow(all[0].Name, "-.->", all[1])
	generated(t, page, "buildsOn and after in "+from, diagram.String()+arrows.String()+"```\n")
}

var (
	// bare matches a chapter that is called by its number.
	bare = regexp.MustCompile(`\b[Cc]hapters? \[?\d\d(?:[^-\w]|$)`)
	// numberedLink matches a link whose text is a number, to a chapter.
	numberedLink = regexp.MustCompile(`\[(\d\d)\]\([^)]*?([a-z0-9-]+)/README\.md[^)]*\)`)
)

// TestChaptersAreCalledByName looks for chapters that are called only by their number, which says nothing to a reader, and which no
// search finds when the chapters change.
func TestChaptersAreCalledByName(t *testing.T) {
	for _, file := range tracked(t) {
		if !slices.Contains([]string{".md", ".go", ".yaml", ".yml", ".sh", ""}, path.Ext(file)) || strings.Contains(file, "/testdata/") {
			continue
		}
		text := read(t, file)
		for _, found := range bare.FindAllString(text, -1) {
			t.Errorf("%s: %q calls a chapter by its number: link its title, or name its directory", file, found)
		}
		for _, link := range numberedLink.FindAllStringSubmatch(text, -1) {
			if shortName(link[2]) != link[1] {
				t.Errorf("%s: the text %s links the chapter %s", file, link[1], link[2])
			}
		}
	}
}
