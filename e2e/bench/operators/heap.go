package operators

import (
	"regexp"
	"strconv"
)

// heapTrace lets the Go runtime tell of each collection, and collect often, so that the last one is never long ago.
var heapTrace = []string{"GODEBUG=gctrace=1", "GOGC=20"}

// traced is a line of GODEBUG=gctrace=1 (https://pkg.go.dev/runtime): "gc 7 @0.5s 2%: ... 4->5->3 MB, ...". The third number is
// what was alive.
var traced = regexp.MustCompile(`(?m)^gc \d+ @.* \d+->\d+->(\d+) MB`)

// liveHeap returns what was alive on the heap, in MiB, at the last collection that a log tells of.
func liveHeap(log []byte) (float64, bool) {
	lines := traced.FindAllSubmatch(log, -1)
	if len(lines) == 0 {
		return 0, false
	}
	live, err := strconv.ParseFloat(string(lines[len(lines)-1][1]), 64)
	return live, err == nil
}
