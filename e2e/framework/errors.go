package framework

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
)

// errorLine is an error in the text format of slog, or in the console format of zap.
var errorLine = regexp.MustCompile(`^\S.*?\bERROR\s+(.+)`)

// reconcileID is what differs whenever controller-runtime logs the same error again.
var reconcileID = regexp.MustCompile(`, "reconcileID": "[^"]*"`)

// lastErrors returns the last distinct errors in an operator's log, the last one last, and at most as many as most. A line about
// another feature, whose namespace begins with prefix as well, says nothing about the feature in namespace.
func lastErrors(log []byte, namespace, prefix string, most int) []string {
	var texts []string
	for line := range bytes.Lines(log) {
		if bytes.Contains(line, []byte(namespace)) || !bytes.Contains(line, []byte(prefix)) {
			texts = append(texts, errorIn(bytes.TrimSpace(line)))
		}
	}
	return lastDistinct(texts, most)
}

// lastWarnings returns the notes of the last distinct warnings, the last one last, and at most as many as most. They say why
// Kubernetes refuses what the operator asked for, such as pods that Pod Security does not admit.
func lastWarnings(events []eventsv1.Event, most int) []string {
	var texts []string
	for _, e := range slices.SortedFunc(slices.Values(events), func(a, b eventsv1.Event) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) }) {
		if e.Type == corev1.EventTypeWarning {
			// The name of a pod that could not be created differs in each attempt, and a recorder marks those that it has combined.
			note := podName.ReplaceAllString(strings.TrimPrefix(e.Note, "(combined from similar events): "), `pods "…"`)
			texts = append(texts, fmt.Sprintf("%s %s: %s", e.Regarding.Kind, e.Reason, note))
		}
	}
	return lastDistinct(texts, most)
}

// lastDistinct returns the last texts that differ and are not empty, the last one last, and at most as many as most.
func lastDistinct(texts []string, most int) []string {
	var found []string
	for _, text := range slices.Backward(texts) {
		if text != "" && !slices.Contains(found, text) && len(found) < most {
			found = append(found, text)
		}
	}
	slices.Reverse(found)
	return found
}

// podName is a pod in an API server's error.
var podName = regexp.MustCompile(`pods "[^"]+"`)

// errorIn returns the message and the error of a line of a log, without time and stack trace; empty if the line is not an error.
func errorIn(line []byte) string {
	var entry struct{ Level, Msg, Error string }
	if json.Unmarshal(line, &entry) == nil {
		if entry.Level != "error" {
			return ""
		}
		return strings.TrimSuffix(entry.Msg+": "+entry.Error, ": ")
	}
	if match := errorLine.FindSubmatch(line); match != nil {
		return reconcileID.ReplaceAllString(string(match[1]), "")
	}
	return ""
}
