package site

import (
	"fmt"
	"slices"
)

// edit replaces a part of a page.
type edit struct {
	start, end int // offsets
	text       string
}

// applied returns the source with the edits in it, which must not overlap.
func applied(source []byte, edits []edit) ([]byte, error) {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	var result []byte
	at := 0
	for _, e := range edits {
		if e.start < at || e.end < e.start {
			return nil, fmt.Errorf("two changes of the same text meet at %q", source[e.start:min(len(source), e.start+30)])
		}
		result = append(append(result, source[at:e.start]...), e.text...)
		at = e.end
	}
	return append(result, source[at:]...), nil
}
