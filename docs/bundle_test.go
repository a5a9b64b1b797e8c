package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestTestsOfTheBundle requires that each test that docs/bundle.md names exists.
func TestTestsOfTheBundle(t *testing.T) {
	var code strings.Builder
	for _, file := range glob(t, "e2e/*/*_test.go") {
		code.WriteString(read(t, file))
	}
	for _, file := range glob(t, "operator/*_test.go") {
		code.WriteString(read(t, file))
	}
	named := regexp.MustCompile("`(Test[A-Z]\\w*)`").FindAllStringSubmatch(read(t, "docs/bundle.md"), -1)
	if len(named) < 20 {
		t.Fatalf("docs/bundle.md names %d tests, expected more", len(named))
	}
	for _, match := range named {
		if !strings.Contains(code.String(), "\nfunc "+match[1]+"(t *testing.T) {") {
			t.Errorf("docs/bundle.md names %s, and there is no such test", match[1])
		}
	}
}
