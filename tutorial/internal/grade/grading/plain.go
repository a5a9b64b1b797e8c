package grading

import (
	"regexp"
	"strings"

	"github.com/example/operator-testbed/tutorial/internal/grade/build"
)

// varying is what differs between two runs that end alike, and what is written instead.
var varying = []struct {
	pattern *regexp.Regexp
	instead string
}{
	// How long it was waited, and why no longer.
	{regexp.MustCompile(`(?m) \((?:gave up after|stopped:) [^()]*\)$`), ""},
	{regexp.MustCompile(` \(log: [^()]*\)`), ""},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "<uid>"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?`), "<time>"},
	{regexp.MustCompile(`\b[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+ `), ""}, // the head of a line of klog's
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d(?:\.\d+)?\b`), "<time>"},
	{regexp.MustCompile(`\b(127\.0\.0\.1|localhost|\[::1\]):\d+`), "$1"},
	// The names of pods end with what the API server draws, and those of ReplicaSets with a hash of a template with a UID in it.
	{regexp.MustCompile(`-[bcdf2-9][bcdfghjklmnpqrstvwxz2456789]{7,9}(?:-[bcdfghjklmnpqrstvwxz2456789]{5})?\b`), "-<pod>"},
	{regexp.MustCompile(`\b(?:\d+h)?(?:\d+m)?\d+\.\d+s\b|\b\d+(?:\.\d+)?(?:ms|µs)\b`), "<duration>"},
	{regexp.MustCompile(`\b0x[0-9a-f]+\b`), "<address>"},
	{regexp.MustCompile(`\b(goroutine|pid|process|exit status|resourceVersion:?) \d+\b`), "$1 <number>"},
}

// longestMessage bounds what is kept of a message, in bytes, and longestRead what of it is looked at.
const longestMessage, longestRead = 4000, 16 * longestMessage

// plain returns a message without what differs between two runs on the same submission, and without the names of the grader's
// directories. suite is the name of the suite, with which the names of its namespaces start.
func plain(message, suite string, directories ...string) string {
	message = message[:min(len(message), longestRead)]
	message = regexp.MustCompile(`\b`+regexp.QuoteMeta(suite)+`-[bcdfghjklmnpqrstvwxz2456789]{5}\b`).ReplaceAllString(message, suite)
	for _, v := range varying {
		message = v.pattern.ReplaceAllString(message, v.instead)
	}
	message = build.Plain(message, directories...)
	if len(message) > longestMessage {
		message = strings.ToValidUTF8(message[:longestMessage], "") + "…"
	}
	return message
}
