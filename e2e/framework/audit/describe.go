package audit

import (
	"fmt"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Describe renders events one a line, as `verb resource/subresource namespace/name: code body`, for the
// message of a failed assertion. Bodies appear where the audit policy keeps them, cut to what helps a reader.
func Describe(events []auditv1.Event) string {
	if len(events) == 0 {
		return "  (none)"
	}
	var b strings.Builder
	for i := range events {
		fmt.Fprintf(&b, "  %s\n", describe(&events[i]))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// maxBody keeps a line readable; a whole object is in the log itself.
const maxBody = 600

func describe(e *auditv1.Event) string {
	var b strings.Builder
	b.WriteString(e.RequestReceivedTimestamp.UTC().Format("15:04:05.000 "))
	b.WriteString(e.Verb)
	if ref := e.ObjectRef; ref != nil {
		b.WriteString(" " + ref.Resource)
		if ref.Subresource != "" {
			b.WriteString("/" + ref.Subresource)
		}
		b.WriteString(" " + strings.Trim(ref.Namespace+"/"+ref.Name, "/"))
	} else {
		b.WriteString(" " + e.RequestURI)
	}
	if e.ResponseStatus != nil {
		fmt.Fprintf(&b, ": %d", e.ResponseStatus.Code)
		if e.ResponseStatus.Message != "" {
			b.WriteString(" " + e.ResponseStatus.Message)
		}
	}
	if e.RequestObject != nil {
		body := string(e.RequestObject.Raw)
		if len(body) > maxBody {
			body = body[:maxBody] + "..."
		}
		b.WriteString(" " + body)
	}
	return b.String()
}
