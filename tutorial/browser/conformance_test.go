package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/example/operator-testbed/tutorial/browser"
)

// TestConformanceReport opens the page that `testbed conformance --report=report.html` writes, as the test of e2e/conformance keeps it.
func TestConformanceReport(t *testing.T) {
	axe := browser.Axe(t)
	server := httptest.NewServer(http.FileServer(http.Dir("../../e2e/conformance/testdata")))
	t.Cleanup(server.Close)
	for _, scheme := range []string{"light", "dark"} {
		for name, width := range map[string]int64{"desktop": 1200, "phone": 360} {
			t.Run(scheme+" on a "+name, func(t *testing.T) {
				tab := browser.Start(t)
				seen := browser.Watch(tab, t)
				run(tab, t, chromedp.EmulateViewport(width, 760),
					emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
					chromedp.Navigate(server.URL+"/report.html"))
				for selector, want := range map[string]string{
					"h1": "2 of 5 points hold (known not to: 1)", ".fails .outcome": "does not hold", ".known .outcome": "does not hold, known",
				} {
					if got := value[string](tab, t, fmt.Sprintf("document.querySelector(%q).textContent", selector)); got != want {
						t.Errorf("%s shows %q, expected %q", selector, got, want)
					}
				}
				if !value[bool](tab, t, "document.querySelector('.fails details').open") {
					t.Error("the details of a point that does not hold are closed")
				}
				if overflow := value[int](tab, t, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); overflow > 0 {
					t.Errorf("the page is %d pixels too wide", overflow)
				}
				keep(tab, t, filepath.Join(pictures(t), "conformance-"+scheme+"-"+name+".png"))
				noBarriers(tab, t, axe)
				if hosts := seen.Hosts(); len(hosts) > 2 { // the server, and the icon's data
					t.Errorf("the page has asked %q", hosts)
				}
				quiet(t, seen)
			})
		}
	}
}
