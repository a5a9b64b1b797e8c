package demo

import (
	"fmt"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// row is a line of the picture in two columns; the second lines up.
type row struct {
	branch, left, right string
	tone                tone
}

const (
	gap    = "   " // between two columns
	indent = "  "  // before the conditions
)

// Picture draws the state: a tree of who owns whom, then the conditions. It
// ends with a newline, and no line is longer than the style allows.
func (s State) Picture(style Style) string {
	var out strings.Builder
	writeRows(&out, s.tree(), style)
	out.WriteString("\n")
	s.writeConditions(&out, style)
	return out.String()
}

func (s State) tree() []row {
	if s.Memcached == nil {
		return []row{{left: "Memcached", right: "not there", tone: wait}}
	}
	rows := []row{{
		left:  "Memcached " + s.Memcached.Name,
		right: MemcachedState(s.Memcached),
		tone:  strong,
	}}
	if s.Deployment == nil {
		return append(rows, row{branch: "└─ ", left: "Deployment", right: "not there yet", tone: wait})
	}
	rows = append(rows, row{
		branch: "└─ ",
		left:   "Deployment " + s.Deployment.Name,
		right:  readyText(s.Deployment),
		tone:   readyTone(s.Deployment),
	})
	for i, pod := range s.Pods {
		branch := "   ├─ "
		if i == len(s.Pods)-1 {
			branch = "   └─ "
		}
		rows = append(rows, row{branch: branch, left: "Pod " + pod.Name, right: podText(pod), tone: podTone(pod)})
	}
	return rows
}

// writeRows gives the right column all the room it needs and shortens names on
// the left: how a thing is matters more than the end of its name.
func writeRows(out *strings.Builder, rows []row, style Style) {
	var left, right int
	for _, r := range rows {
		left = max(left, utf8.RuneCountInString(r.branch+r.left))
		right = max(right, utf8.RuneCountInString(r.right))
	}
	if style.Width > 0 {
		left = min(left, max(0, style.Width-right-len(gap)))
	}
	for _, r := range rows {
		branch := fit(r.branch, left)
		name := pad(fit(r.left, left-utf8.RuneCountInString(branch)), left-utf8.RuneCountInString(branch))
		status := r.right
		if style.Width > 0 {
			status = fit(status, max(0, style.Width-left-len(gap)))
		}
		fmt.Fprintf(out, "%s%s%s%s\n", style.paint(quiet, branch), name, gap, style.paint(r.tone, status))
	}
}

// writeConditions draws Available=True and its like in one piece, color codes
// around it and none inside, so that a search for it finds it.
func (s State) writeConditions(out *strings.Builder, style Style) {
	conditions := s.conditions()
	out.WriteString(style.paint(strong, "Conditions") + "\n")
	if len(conditions) == 0 {
		out.WriteString(indent + style.paint(wait, "none yet") + "\n")
		return
	}
	var verdict, reason int
	for _, c := range conditions {
		verdict = max(verdict, utf8.RuneCountInString(verdictOf(c)))
		reason = max(reason, utf8.RuneCountInString(c.Reason))
	}
	for _, c := range conditions {
		rest := strings.TrimRight(gap+pad(c.Reason, reason)+gap+c.Message+Outdated(s.Memcached, c), " ")
		if style.Width > 0 {
			rest = fit(rest, max(0, style.Width-len(indent)-verdict))
		}
		fmt.Fprintf(out, "%s%s%s\n", indent, style.paint(s.tone(c), pad(verdictOf(c), verdict)), rest)
	}
}

func verdictOf(c metav1.Condition) string { return c.Type + "=" + string(c.Status) }
