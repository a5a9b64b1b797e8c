package recheck

import "testing"

// What a check or an editor writes must not start a check.
func TestIgnored(t *testing.T) {
	for path, want := range map[string]bool{
		"/my.op": false, "/my.op/cmd/main.go": false, "/my.op/config/crd/bases/x.yaml": false, "/my.op/Makefile": false,
		"/my.op/.events": true, "/my.op/.git/index": true, "/my.op/bin/manager": true, "/my.op/dist/install.yaml": true,
		"/my.op/cmd/.main.go.swp": true, "/my.op/cmd/main.go~": true, "/my.op/cmd/4913": true,
	} {
		if got := ignored("/my.op", path); got != want {
			t.Errorf("%s: got %t", path, got)
		}
	}
}
