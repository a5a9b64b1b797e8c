package markdown

import (
	"fmt"
	"maps"
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

// allowed are the attributes of each kind.
var allowed = map[string][]string{
	kindConsole: {"needs", "terminal", "background", "exit", "skip"},
	kindRegion:  {"file", "decl", "key", "from", "to"},
	kindBroken:  {"file", "decl", "key", "from", "to", "broken"},
	kindDiff:    {"from", "to", "decl", "key"},
	kindQuote:   {"source"},
	kindMermaid: {},
	kindText:    {"skip"},
}

// kind is what a block is, or empty and the reason why it is nothing that can be checked.
func (b block) kind() (kind, fault string) {
	if b.fault != "" {
		return "", b.fault
	}
	i := b.info
	switch {
	case i.has("source"):
		kind = kindQuote
	case i.language == "console":
		kind = kindConsole
	case i.language == "mermaid":
		kind = kindMermaid
	case i.language == "diff":
		kind = kindDiff
	case i.has("file") && i.has("broken"):
		kind = kindBroken
	case i.has("file"):
		kind = kindRegion
	case i.language == "text":
		kind = kindText
	case slices.Contains([]string{"sh", "bash", "shell"}, i.language):
		return "", "commands belong into a console block, which is run, each after a `$ `"
	default:
		return "", fmt.Sprintf("nothing checks this %s block: name the file that it is from (file=, and decl=, key= or from=), or its source (source=)", i.language)
	}
	for _, key := range slices.Sorted(maps.Keys(i.attributes)) {
		if !slices.Contains(allowed[kind], key) {
			return "", fmt.Sprintf("a %s block has no attribute %s: it may have %s", kind, key, strings.Join(allowed[kind], ", "))
		}
	}
	switch {
	case kind == kindText && i.attributes["skip"] == "":
		return "", "nothing checks this text block: make it console, if commands print it, or say skip=\"why no machine can tell\""
	case kind == kindQuote && i.attributes["source"] == "":
		return "", "the quotation has no source"
	case kind == kindConsole && i.has("skip") && i.attributes["skip"] == "":
		return "", "the block is skipped without a reason"
	case kind == kindDiff && (i.attributes["from"] == "" || i.attributes["to"] == ""):
		return "", "a diff block names what it compares: from= and to="
	case i.has("to") && !i.has("from"):
		return "", "where there is to= there must be from="
	case kind == kindMermaid:
		fault = mermaidFault(b.text)
	case kind == kindConsole:
		_, err := parseConsole(b)
		if err != nil {
			fault = err.Error()
		}
	}
	if fault != "" {
		kind = ""
	}
	return kind, fault
}

// checkBlocks says what is wrong with the blocks of a page, as far as can be told without running anything.
func checkBlocks(root string, p *page) []Problem {
	var problems []Problem
	for n, b := range p.blocks {
		kind, fault := b.kind()
		if fault == "" {
			fault = b.stale(root, kind)
		}
		if fault == "" && kind == kindBroken {
			fault = refusal(b, p.blocks[n+1:])
		}
		if fault != "" {
			problems = append(problems, Problem{p.file, b.line, fault})
		}
	}
	return problems
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
	if kind != kindRegion && kind != kindBroken && kind != kindDiff {
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
// or its folder, fail, and show words of the failure.
func refusal(b block, next []block) string {
	const rule = "a broken block is followed by a console block that names the file or its folder, has exit= with a number other than 0, and shows how it is refused"
	if len(next) == 0 {
		return rule
	}
	kind, _ := next[0].kind()
	if kind != kindConsole {
		return rule
	}
	script, err := parseConsole(next[0])
	if err != nil {
		return err.Error()
	}
	last := script.commands[len(script.commands)-1]
	file := b.info.attributes["file"]
	folder := file[:strings.LastIndex(file, "/")+1]
	named := strings.Contains(last.text, file) || (folder != "" && strings.Contains(last.text, strings.TrimSuffix(folder, "/")))
	words := slices.ContainsFunc(last.output, func(line string) bool { return strings.Trim(line, ".… ") != "" })
	if !named || script.exit == 0 || !words {
		return rule
	}
	return ""
}
