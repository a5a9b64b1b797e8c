package markdown

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// The kinds of blocks.
const (
	kindConsole = "console"
	kindRegion  = "region"
	kindBroken  = "broken"
	kindDiff    = "diff"
	kindQuote   = "quote"
	kindMermaid = "mermaid"
	kindText    = "text"
)

// kinds describes them. A block is of the first kind whose language and attributes it has.
var kinds = []struct {
	name, language string   // without a language, all
	has            []string // the attributes by which a block is of this kind
	needs          []string // the attributes that must have values, or the block is at fault
	fault          string
	allows         []string // further attributes
	check          func(block) error
}{
	{name: kindQuote, has: []string{"source"}, needs: []string{"source"}, fault: "the quotation has no source"},
	{
		name: kindConsole, language: "console", allows: []string{"needs", "tools", "terminal", "background", "exit", "skip"},
		check: func(b block) error {
			_, err := parseConsole(b)
			return err
		},
	},
	{name: kindMermaid, language: "mermaid", check: func(b block) error { return checkMermaid(b.text) }},
	{
		name: kindDiff, language: "diff", needs: []string{"from", "to"}, fault: "a diff block names what it compares: from= and to=",
		allows: []string{"decl", "key"},
	},
	{name: kindBroken, has: []string{"file", "broken"}, allows: []string{"decl", "key", "from", "to"}},
	{name: kindRegion, has: []string{"file"}, allows: []string{"decl", "key", "from", "to"}},
	{
		name: kindText, language: "text", needs: []string{"skip"},
		fault: "nothing checks this text block: make it console, if commands print it, or say skip=\"why no machine can check it\"",
	},
}

// kind is what a block is, or empty and the reason why it can't be checked.
func (b block) kind() (name, fault string) {
	if b.fault != "" {
		return "", b.fault
	}
	for _, k := range kinds {
		if k.language != "" && k.language != b.info.language || !b.info.has(k.has...) {
			continue
		}
		allowed := slices.Concat(k.has, k.needs, k.allows)
		for _, key := range slices.Sorted(maps.Keys(b.info.attributes)) {
			if !slices.Contains(allowed, key) {
				return "", fmt.Sprintf("a %s block has no attribute %s: it may have %s", k.name, key, strings.Join(allowed, ", "))
			}
		}
		if slices.ContainsFunc(k.needs, func(key string) bool { return b.info.attributes[key] == "" }) {
			return "", k.fault
		}
		if b.info.has("to") && !b.info.has("from") {
			return "", "where there is to= there must be from="
		}
		if k.check != nil {
			if err := k.check(b); err != nil {
				return "", err.Error()
			}
		}
		return k.name, ""
	}
	if slices.Contains([]string{"sh", "bash", "shell"}, b.info.language) {
		return "", "commands belong into a console block, which is run, each after a `$ `"
	}
	return "", fmt.Sprintf("nothing checks this %s block: name the file that it is from (file=, and decl=, key= or from=), or its source (source=)", b.info.language)
}

// problem says what is wrong with a block, as far as this can be found out without running anything. The blocks that follow are next.
func (b block) problem(root string, next []block) string {
	kind, fault := b.kind()
	if fault == "" {
		fault = b.stale(root, kind)
	}
	if fault == "" && kind == kindBroken {
		fault = refusal(b, next)
	}
	return fault
}

// generated is what a block should show that is taken from files.
func (b block) generated(root, kind string) (want string, err error) {
	if kind == kindDiff {
		return difference(root, b.info)
	}
	return excerpt(root, b.info.attributes["file"], b.info)
}

// stale says in what a block differs from the files that it is from.
func (b block) stale(root, kind string) string {
	if !slices.Contains([]string{kindRegion, kindBroken, kindDiff}, kind) {
		return ""
	}
	want, err := b.generated(root, kind)
	if err != nil {
		return err.Error()
	}
	if b.text == want {
		return ""
	}
	shown, lines := strings.Split(b.text, "\n"), strings.Split(want, "\n")
	at := 0
	for at < len(shown)-1 && at < len(lines)-1 && shown[at] == lines[at] {
		at++
	}
	return fmt.Sprintf("the block is not what it names (go test ./docs -update writes it): its line %d is\n\t%s\nand should be\n\t%s", at+1, shown[at], lines[at])
}

// refusal says what is missing to show that a broken file is refused: the next block must be of commands, name the file
// or its directory, fail, and show words of the failure.
func refusal(b block, next []block) string {
	rule := "a broken block is followed by a console block that names the file or its directory, has exit= with a number other than 0, and shows how it is refused"
	if len(next) == 0 {
		return rule
	}
	kind, _ := next[0].kind()
	script, _ := parseConsole(next[0])
	if kind != kindConsole || len(script.commands) == 0 {
		return rule
	}
	last := script.commands[len(script.commands)-1]
	file := b.info.attributes["file"]
	directory := path.Dir(file)
	named := strings.Contains(last.text, file) || directory != "." && strings.Contains(last.text, directory)
	words := slices.ContainsFunc(last.output, func(line string) bool { return strings.Trim(line, ".… ") != "" })
	if named && script.exit != 0 && words {
		return ""
	}
	return rule
}
