package browser_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/example/operator-testbed/tutorial/browser"
)

// mostPicture is how many bytes a picture for the docs may have.
const mostPicture = 200_000

// Pictures of the panel, to be looked at, and checked for barriers. PICTURES=dir keeps them, and SITE=dir shows the panel in the pages of
// a built site.
func TestPanelPictures(t *testing.T) {
	t.Parallel()
	axe := browser.Axe(t)
	tab := browser.Start(t)
	s := serveLearn(t, 0)
	s.show(t, stateOf(t, "running"))
	dir := pictures(t)
	run(tab, t, wide, chromedp.Navigate(s.invitation), chromedp.WaitVisible("#home"))
	screen := chromedp.EmulateViewport(1360, 900)
	// The names are those of files and of what they show.
	for _, picture := range []struct {
		name, state, scheme string
		window              chromedp.EmulateAction
	}{
		{"panel", "running", "light", screen},
		{"panel-dark", "running", "dark", screen},
		{"panel-failing", "failing", "light", screen},
		{"panel-failing-dark", "failing", "dark", screen},
		{"panel-no-cluster", "absent", "light", screen},
		{"panel-narrow", "failing", "light", narrow},
		{"panel-narrow-dark", "running", "dark", narrow},
	} {
		s.show(t, stateOf(t, picture.state))
		run(tab, t, picture.window, chromedp.Navigate(s.url+chapterURL), text(".live", "Live"),
			chromedp.Evaluate(fmt.Sprintf("document.documentElement.classList.toggle('dark', %t); document.documentElement.style.colorScheme = '%s'", picture.scheme == "dark", picture.scheme), nil),
			chromedp.Evaluate("document.querySelector('#learn').hidden && document.querySelector('.learn-opener').click()", nil),
			holds("document.querySelector('.progress p').textContent !== '' && document.getAnimations().every((each) => each.playState === 'finished' || each.effect.getTiming().iterations === Infinity)"))
		keep(tab, t, filepath.Join(dir, picture.name+".png"))
		noBarriers(tab, t, axe)
		if picture.state == "failing" {
			run(tab, t, chromedp.Evaluate("document.querySelector('#learn [data-outcome=failed]').scrollIntoView({ block: 'center', behavior: 'instant' })", nil),
				holds("document.querySelector('#learn [data-outcome=failed]').getBoundingClientRect().bottom < innerHeight"),
				chromedp.Evaluate("requestAnimationFrame(() => requestAnimationFrame(() => { window.painted = true; })); 1", nil), holds("window.painted"))
			keep(tab, t, filepath.Join(dir, picture.name+"-check.png"))
		}
	}
}

// keep writes what the tab shows to a file.
func keep(tab context.Context, t *testing.T, path string) {
	t.Helper()
	var picture []byte
	run(tab, t, chromedp.CaptureScreenshot(&picture))
	picture = shrink(t, picture)
	if len(picture) > mostPicture {
		t.Errorf("%s has %d bytes, expected at most %d", path, len(picture), mostPicture)
	}
	if err := os.WriteFile(path, picture, 0o644); err != nil {
		t.Fatal(err)
	}
}

// shrink returns a picture with 32 shades of each color. Nobody sees the difference, and it is a third smaller.
func shrink(t *testing.T, picture []byte) []byte {
	t.Helper()
	decoded, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	fewer := image.NewRGBA(decoded.Bounds())
	draw.Draw(fewer, fewer.Bounds(), decoded, decoded.Bounds().Min, draw.Src)
	for i, shade := range fewer.Pix {
		fewer.Pix[i] = uint8((int(shade)*31 + 127) / 255 * 255 / 31) // to the nearest one, so that gray stays gray
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, fewer); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
