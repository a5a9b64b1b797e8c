package web_test

import (
	"regexp"
	"testing"

	"github.com/example/operator-testbed/tutorial/internal/web"
	"github.com/example/operator-testbed/tutorial/internal/web/contrast"
)

// Text can be read on what is behind it, in light, in the dark and on paper.
func TestContrast(t *testing.T) {
	roots := regexp.MustCompile(`:root \{([^}]*)\}`).FindAllStringSubmatch(web.Style, -1)
	if len(roots) != 3 {
		t.Fatalf("the style sheet has %d sets of colors, expected light, dark and print", len(roots))
	}
	for i, where := range []string{"light", "dark", "print"} {
		contrast.Verify(t, where, roots[i][1], [][2]string{
			{"ink", "paper"}, {"faint", "paper"}, {"ink", "head"}, {"faint", "head"}, {"good", "good-paper"}, {"bad", "bad-paper"}, {"warn", "warn-paper"},
			{"accent", "paper"},
		})
	}
}
