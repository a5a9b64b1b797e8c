package browser_test

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/example/operator-testbed/tutorial/browser"
)

// A browser keeps its profile and its sockets among the temporary files, for as long as the test takes.
func TestBrowserLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Run("a test", func(t *testing.T) {
		run(browser.Start(t), t, chromedp.Navigate("about:blank"))
		if files, err := os.ReadDir(dir); err != nil || len(files) == 0 {
			t.Errorf("a browser that runs has no files: %v", err)
		}
	})
	files, err := os.ReadDir(dir)
	if err != nil || len(files) > 0 {
		t.Errorf("the browser has left %v, %v", files, err)
	}
}
