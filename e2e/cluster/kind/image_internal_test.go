package kind

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestWhichImage(t *testing.T) {
	const pinned, named, made = "kindest/node:v1@sha256:0", "somebody/node:v2", "local/node:v1"
	unreachable, broken := errors.New("no such host"), errors.New("the disk is full")
	for name, tc := range map[string]struct {
		variable    string
		has         string
		pull, build error
		want, told  string
		failure     string
	}{
		"named, and there":  {variable: named, has: named, want: named, told: "$TEST_IMAGE names it"},
		"named, and pulled": {variable: named, want: named, told: "$TEST_IMAGE names it"},
		"named, not to be had": {variable: named, has: pinned, pull: unreachable,
			failure: "TEST_IMAGE=somebody/node:v2 is not to be had: no such host: unset it, or name an image that Docker has"},
		"the pinned one, there": {has: pinned, pull: unreachable, want: pinned, told: "Docker has it"},
		"pulled":                {want: pinned, told: "pulled"},
		"made":                  {pull: unreachable, want: made, told: "made from source"},
		"none at all":           {pull: unreachable, build: broken, failure: "there is no image for nodes: kindest/node:v1@sha256:0 can't be pulled (no such host), and none could be made\nthe disk is full"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			t.Setenv("TEST_IMAGE", tc.variable)
			var told strings.Builder
			got, err := want{what: "nodes", variable: "TEST_IMAGE", pinned: pinned}.find(t.Context(), source{
				has:   func(_ context.Context, image string) bool { return image == tc.has },
				pull:  func(context.Context, string) error { return tc.pull },
				build: func(context.Context, []string) (string, error) { return made, tc.build },
			}, &told)
			if tc.failure != "" {
				g.Expect(err).To(MatchError(tc.failure))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(tc.want))
			g.Expect(told.String()).To(ContainSubstring("nodes of " + tc.want + ": " + tc.told))
		})
	}
}
