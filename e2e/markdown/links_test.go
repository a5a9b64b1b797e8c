package markdown

import "testing"

// TestAnchors names headings as GitHub does.
func TestAnchors(t *testing.T) {
	t.Parallel()
	p := parsePage("page.md", []byte("# `go: go.mod requires …`\n\n## What `it` does, and why\n\n## Twice\n\n## Twice\n\n## GVK & GVR\n\n## snake_case-and 3.14\n\n<a id=\"here\"></a>\n\n## [A link](other.md)\n"))
	for _, want := range []string{"go-gomod-requires-", "what-it-does-and-why", "twice", "twice-1", "gvk--gvr", "snake_case-and-314", "here", "a-link"} {
		if !p.anchors[want] {
			t.Errorf("there is no anchor #%s: there are %v", want, p.anchors)
		}
	}
}
