package framework

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// errorLine is an error in the text format of slog, or in the console format of zap.
var errorLine = regexp.MustCompile(`^\S.*?\bERROR\s+(.+)`)

// lastErrors returns the last distinct errors in an operator's log, the last one last, and at most as many as most. A line about
// another feature, whose namespace begins with prefix as well, says nothing about the feature in namespace.
func lastErrors(log []byte, namespace, prefix string, most int) []string {
	var found []string
	lines := bytes.Split(log, []byte("\n"))
	slices.Reverse(lines)
	for _, line := range lines {
		text := errorIn(line)
		about := bytes.Contains(line, []byte(namespace)) || !bytes.Contains(line, []byte(prefix))
		if text != "" && about && !slices.Contains(found, text) {
			found = append(found, text)
		}
		if len(found) == most {
			break
		}
	}
	slices.Reverse(found)
	return found
}

// errorIn returns the message and the error of a line of a log, without time and stack trace; empty if the line is no error.
func errorIn(line []byte) string {
	var entry struct{ Level, Msg, Error string }
	if json.Unmarshal(line, &entry) == nil {
		if entry.Level != "error" {
			return ""
		}
		return strings.TrimSuffix(entry.Msg+": "+entry.Error, ": ")
	}
	if match := errorLine.FindSubmatch(line); match != nil {
		return string(match[1])
	}
	return ""
}
