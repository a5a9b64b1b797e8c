package markdown

import (
	"regexp"
	"slices"
	"strings"
)

// manyLines stands for any number of lines.
const manyLines = "..."

// wildcards stand for what varies within a line.
var wildcards = map[string]string{
	"…":          `.*`,
	"<number>":   `[0-9]+(?:\.[0-9]+)?`,
	"<hash>":     `[0-9a-z]+`,
	"<duration>": `(?:[0-9]+(?:\.[0-9]+)?(?:ms|µs|ns|[smhd]))+`,
	"<word>":     `\S+`,
}

// variable finds what varies in a line of shown output: wildcards with the blanks around them, which fill what they leave
// of a column, and several blanks.
var variable = regexp.MustCompile(` *(?:…|<(?:number|hash|duration|word)>) *| {2,}`)

// expression is a regular expression for lines that are shown.
func expression(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		if line == manyLines {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		at := 0
		for _, found := range variable.FindAllStringIndex(line, -1) {
			b.WriteString(regexp.QuoteMeta(line[at:found[0]]))
			b.WriteString(varying(line[found[0]:found[1]], found[0] == 0))
			at = found[1]
		}
		b.WriteString(regexp.QuoteMeta(line[at:]))
		b.WriteString(` *\n`)
	}
	return b.String()
}

// varying is a regular expression for a part of a line that variable has found.
func varying(shown string, begins bool) string {
	wildcard := strings.Trim(shown, " ")
	if wildcard == "" {
		if begins {
			return shown // indentation is as shown
		}
		return ` +`
	}
	before, after, _ := strings.Cut(shown, wildcard)
	return blanks(before, begins) + wildcards[wildcard] + blanks(after, false)
}

// blanks is a regular expression for the blanks beside a wildcard. A number at the beginning of a line may be padded.
func blanks(shown string, begins bool) string {
	switch {
	case begins && shown != "":
		return ` *`
	case shown != "":
		return ` +`
	}
	return ""
}

// shows says whether output is what is shown, from its beginning to its end.
func shows(lines []string, output string) bool {
	return regexp.MustCompile(`\A` + expression(trimmed(lines)) + `\z`).MatchString(lined(output))
}

// appears returns how far output goes when what is shown has appeared at its beginning, else -1.
func appears(lines []string, output string) int {
	whole := output[:strings.LastIndexByte(output, '\n')+1]
	found := regexp.MustCompile(`\A` + expression(trimmed(lines))).FindStringIndex(whole)
	if found == nil {
		return -1
	}
	return found[1]
}

// contradicted says that what is shown can't appear any more, whatever is printed after this output. A line for any number
// of lines leaves that open.
func contradicted(lines []string, output string) bool {
	if open := slices.Index(lines, manyLines); open >= 0 {
		lines = lines[:open]
	}
	lines = lines[:min(len(lines), strings.Count(output, "\n"))]
	return appears(lines, output) < 0
}

// firstMissing is the first line that is shown and was not printed after those before it. If it is empty, more was printed
// than is shown.
func firstMissing(lines []string, output string) string {
	for n := range lines {
		if appears(lines[:n+1], lined(output)) < 0 {
			return lines[n]
		}
	}
	return ""
}

// lined is output that ends with exactly one newline, if there is any.
func lined(output string) string {
	if output = strings.TrimRight(output, " \n"); output == "" {
		return ""
	}
	return output + "\n"
}

// trimmed is lines without empty ones at the end.
func trimmed(lines []string) []string {
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
