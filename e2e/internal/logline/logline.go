// Package logline finds errors in the logs of programs.
package logline

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// fatal match the lines that say why a program has exited, the most telling first: etcd's log has the error that its panic lacks. Stack
// traces and usage follow them.
var fatal = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^\{"level":"(?:panic|fatal)".*$`),
	regexp.MustCompile(`(?m)^(?:panic|fatal error): .*$`),
	regexp.MustCompile(`(?m)^(?:flag provided but not defined|Error): .*$`),
}

// Cause returns the line of a log that says why a program has exited: the last one that ends a program, or else the last error, or else the
// last line.
func Cause(log []byte) string {
	for _, pattern := range fatal {
		if found := pattern.FindAll(log, -1); len(found) > 0 {
			return string(found[len(found)-1])
		}
	}
	last := ""
	for line := range bytes.Lines(log) {
		if line = bytes.TrimSpace(line); Error(line) != "" {
			last = string(line)
		}
	}
	if last != "" {
		return last
	}
	return Last(log)
}

// Last returns the last line of a log that is not empty.
func Last(log []byte) string {
	log = bytes.TrimSpace(log)
	return string(log[bytes.LastIndexByte(log, '\n')+1:])
}

var (
	// text is an error in the text format of slog, or in the console format of zap.
	text = regexp.MustCompile(`^\S.*?\bERROR\s+(.+)`)
	// klog is an error in klog's format.
	klog = regexp.MustCompile(`^E\d{4} [\d:.]+ +\d+ \S+\] (.+)`)
	// reconcileID is what differs whenever controller-runtime logs the same error again.
	reconcileID = regexp.MustCompile(`, "reconcileID": "[^"]*"`)
)

// Error returns the message and the error of a line of a log, without time and stack trace; empty if the line is not an error.
func Error(line []byte) string {
	var entry struct{ Level, Msg, Error string }
	if json.Unmarshal(line, &entry) == nil {
		if entry.Level != "error" {
			return ""
		}
		return strings.TrimSuffix(entry.Msg+": "+entry.Error, ": ")
	}
	for _, pattern := range []*regexp.Regexp{text, klog} {
		if match := pattern.FindSubmatch(line); match != nil {
			return reconcileID.ReplaceAllString(string(match[1]), "")
		}
	}
	return ""
}
