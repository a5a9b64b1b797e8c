package kind

import (
	"path/filepath"
	"runtime"
	"testing"

	. "github.com/onsi/gomega"
)

// The engine is a script: what an engine of each kind does with --platform was looked up, and can't be tried on every machine.
func TestSaveOnePlatform(t *testing.T) {
	platform := "save --platform=linux/" + runtime.GOARCH + " --output="
	for name, test := range map[string]struct {
		cases   string
		want    []string // the beginnings of what the engine is asked for
		failure string
	}{
		"an engine that knows platforms": {`save*) ;;`, []string{platform}, ""},
		"one that does not":              {`*--platform*) echo "unknown flag: --platform" >&2; exit 125 ;;`, []string{platform, "save --output="}, ""},
		"an image for another platform":  {`*--platform*) echo "image does not provide the specified platform" >&2; exit 1 ;;`, []string{platform, "save --output="}, ""},
		"no image":                       {`*) echo "Error response from daemon: No such image: operator" >&2; exit 1 ;;`, []string{platform, "save --output="}, "No such image"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			asked := fakeDocker(t, test.cases)
			archive := filepath.Join(t.TempDir(), "image.tar")
			err := save(t.Context(), "operator", archive)
			if test.failure == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(test.failure)))
			}
			said := lines(asked())
			g.Expect(said).To(HaveLen(len(test.want)))
			for i, want := range test.want {
				g.Expect(said[i]).To(And(HavePrefix(want), HaveSuffix(archive+" operator")))
			}
		})
	}
}
