package browser_test

import (
	"os"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/example/operator-testbed/tutorial/browser"
)

// A browser keeps its profile and its sockets among the temporary files, for as long as the test takes.
func TestBrowserLeavesNothing(t *testing.T) {
	// The name of a directory of t.TempDir is too long for the browser's socket.
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
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

// A page moves while it loads. The button of this one never stays where it is, and is covered at first.
func TestClick(t *testing.T) {
	const page = `data:text/html,<main tabindex="-1"><button style="position:fixed" onclick="clicks.push(!!document.querySelector('div'))">Here</button></main>
<div style="position:fixed;inset:0"></div><script>
	const clicks = [], button = document.querySelector('button')
	setInterval(() => { button.style.left = button.style.left ? '' : '50vw' })
	setTimeout(() => document.querySelector('div').remove(), 200)
</script>`
	tab := browser.Start(t)
	run(tab, t, chromedp.Navigate(page))
	for range 20 {
		run(tab, t, browser.Click("button"))
	}
	if covered := value[[]bool](tab, t, "clicks"); !slices.Equal(covered, make([]bool, 20)) {
		t.Errorf("expected 20 clicks, none of them while the button was covered, got %v", covered)
	}
	if focused := value[string](tab, t, "document.activeElement.tagName"); focused != "BUTTON" {
		t.Errorf("%q has the focus", focused)
	}
}
