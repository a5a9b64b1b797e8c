package framework

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/example/operator-testbed/e2e/internal/logline"
)

// lastErrors returns the last distinct errors in an operator's log, the last one last, and at most as many as most. A line about
// another feature, whose namespace begins with prefix as well, says nothing about the feature in namespace.
func lastErrors(log []byte, namespace, prefix string, most int) []string {
	var texts []string
	stopping := false
	for line := range bytes.Lines(log) {
		switch {
		case bytes.Contains(line, []byte(`"Stopping and waiting for`)):
			stopping = true
		case bytes.Contains(line, []byte(`"Starting EventSource"`)):
			stopping = false
		case stopping && bytes.Contains(line, []byte("failed to get informer from cache")):
			continue // controller-runtime gives up waiting, because the operator is stopped
		}
		if bytes.Contains(line, []byte(namespace)) || !bytes.Contains(line, []byte(prefix)) {
			texts = append(texts, logline.Error(bytes.TrimSpace(line)))
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
