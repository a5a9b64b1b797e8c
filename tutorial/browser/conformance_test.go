package browser_test

import (
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/example/operator-testbed/tutorial/browser"
)

// TestConformanceReport opens the page that `testbed conformance --report=report.html` writes, as the test of e2e/conformance keeps it.
func TestConformanceReport(t *testing.T) {
	axe := browser.Axe(t)
	page, err := filepath.Abs("../../e2e/conformance/testdata/report.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"light", "dark"} {
		for name, width := range map[string]int64{"desktop": 1200, "phone": 360} {
			t.Run(scheme+" on a "+name, func(t *testing.T) {
				tab := browser.Start(t)
				seen := browser.Watch(tab, t)
				var overflow int
				run(tab, t, chromedp.EmulateViewport(width, 760),
					emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
					chromedp.Navigate("file://"+page), chromedp.WaitVisible("table"),
					text("h1", "2 of 5 points hold"), text(".fails .outcome", "does not hold"), text(".known .outcome", "does not hold, known"),
					text(".fails pre", "to be put back"), // which is open
					chromedp.Evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth", &overflow))
				if overflow > 0 {
					t.Errorf("the page is %d pixels too wide", overflow)
				}
				keep(tab, t, filepath.Join(pictures(t), "conformance-"+scheme+"-"+name+".png"))
				noBarriers(tab, t, axe)
				quiet(t, seen)
			})
		}
	}
}
