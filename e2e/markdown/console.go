package markdown

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// What a block can run on; each can do what those before it can.
const (
	// NeedsNone is for blocks that are quick and touch nothing outside of the copy that they run in.
	NeedsNone = "none"
	// NeedsEmbedded is for blocks that a cluster of simulated nodes, or the time to make one, suffices for. It is what a block
	// needs that does not say, so that none slows down a plain go test unasked.
	NeedsEmbedded = "embedded"
	// NeedsKind is for blocks that need nodes that run containers.
	NeedsKind = "kind"
)

// needs are all of them, in that order.
var needs = []string{NeedsNone, NeedsEmbedded, NeedsKind}

// tools are programs that a block may need and that few readers have, by the name of what they belong to.
var tools = map[string]struct {
	programs []string
	command  string // that gets them
}{
	"sdk": {programs: []string{"operator-sdk", "helm-operator"}, command: "make sdk"},
}

// available returns what blocks can have: what a cluster suffices for, and the tools whose programs are on PATH.
func available(cluster string) []string {
	has := slices.Clone(needs[:max(1, slices.Index(needs, cluster)+1)])
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		if !slices.ContainsFunc(tools[name].programs, notOnPath) {
			has = append(has, name)
		}
	}
	return has
}

func notOnPath(program string) bool {
	_, err := exec.LookPath(program)
	return err != nil
}

// script is a console block.
type script struct {
	needs      string
	tools      string // empty if it needs none but those that every reader has
	terminal   int
	background bool
	exit       int
	skip       string
	// more is what the command that runs in the background has printed since.
	more []string
	// interrupted means that it is interrupted first, and then prints after.
	interrupted bool
	after       []string
	commands    []command
}

// command is a command and what it prints.
type command struct {
	line   int // in the block's file
	text   string
	output []string
}

func parseConsole(b block) (script, error) {
	s := script{needs: NeedsEmbedded, terminal: 1, background: b.info.has("background"), skip: b.info.attributes["skip"]}
	if b.info.has("needs") {
		s.needs = b.info.attributes["needs"]
	}
	s.tools = b.info.attributes["tools"]
	if _, known := tools[s.tools]; !known && b.info.has("tools") {
		return s, fmt.Errorf("tools=%s: it must be one of %s", s.tools, strings.Join(slices.Sorted(maps.Keys(tools)), ", "))
	}
	if !slices.Contains(needs, s.needs) {
		return s, fmt.Errorf("needs=%s: it must be %s, %s or %s", s.needs, NeedsNone, NeedsEmbedded, NeedsKind)
	}
	for key, to := range map[string]*int{"terminal": &s.terminal, "exit": &s.exit} {
		if value, has := b.info.attributes[key]; has {
			number, err := strconv.Atoi(value)
			if err != nil || number < 0 {
				return s, fmt.Errorf("%s=%s: it must be a number", key, value)
			}
			*to = number
		}
	}
	number := b.line
	for line := range strings.Lines(b.text) {
		number++
		s.add(strings.TrimRight(line, " \t\n"), number)
	}
	for _, c := range s.commands {
		if err := pastable(c.text); err != nil {
			return s, err
		}
	}
	switch {
	case b.info.has("skip") && s.skip == "":
		return s, errors.New("the block is skipped without a reason")
	case len(s.commands) == 0 && !s.interrupted && s.more == nil:
		return s, errors.New("the block has no command: a command begins with `$ `")
	case s.background && len(s.commands) == 0:
		return s, errors.New("no command of the block can go on in the background")
	case s.background && !slices.ContainsFunc(s.commands[len(s.commands)-1].output, func(line string) bool { return line != manyLines }):
		return s, errors.New("a command that goes on in the background shows what it prints when it has started")
	case s.background && s.exit != 0:
		return s, errors.New("a command that goes on in the background has no exit code yet")
	}
	return s, nil
}

// lacks returns what the script needs and there is not, or "".
func (s script) lacks(has []string) string {
	switch {
	case !slices.Contains(has, s.needs):
		return s.needs
	case s.tools != "" && !slices.Contains(has, s.tools):
		return s.tools
	}
	return ""
}

// add takes in a line.
func (s *script) add(line string, number int) {
	last := len(s.commands) - 1
	if text, is := strings.CutPrefix(line, "$ "); is {
		s.commands = append(s.commands, command{line: number, text: text})
		return
	}
	if text, is := strings.CutPrefix(line, ">"); is && last >= 0 && s.commands[last].output == nil && (text == "" || text[0] == ' ') {
		s.commands[last].text += "\n" + strings.TrimPrefix(text, " ")
		return
	}
	switch {
	case last >= 0:
		s.commands[last].output = append(s.commands[last].output, line)
	case line == "^C":
		s.interrupted = true
	case s.interrupted:
		s.after = append(s.after, line)
	default:
		s.more = append(s.more, line)
	}
}

// pastable returns an error for a command that means something else in zsh, the shell of macOS, than in bash: zsh passes a comment that is
// typed on as arguments, and fails on an unquoted pattern that matches no file.
func pastable(command string) error {
	if strings.Contains(command, "<<") {
		command, _, _ = strings.Cut(command, "\n") // what follows is input
	}
	quote, before := rune(0), ' '
	for _, r := range command {
		switch {
		case before == '\\':
			r = 0 // it is quoted, even if it is another backslash
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case r == '#' && unicode.IsSpace(before):
			return errors.New("the command has a comment, which zsh passes on as arguments: write it outside of the block")
		case r == '?' || r == '[' && before != ' ':
			return fmt.Errorf("the command has an unquoted %c, for which zsh looks for files: quote it", r)
		}
		before = r
	}
	return nil
}
