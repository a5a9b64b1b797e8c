// Package contrast checks in tests that the text of a page can be read on what is behind it.
package contrast

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// least is the ratio that WCAG 2.2 asks for at level AA.
const least = 4.5

var color = regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]+)`)

// Verify fails the test for each pair of text and background whose contrast is too low, or which is not in a set of colors: the text of a
// style sheet's rule with custom properties such as "--ink: #1c1e21". Where names the set in messages.
func Verify(t *testing.T, where, set string, pairs [][2]string) {
	t.Helper()
	colors := map[string]float64{}
	for _, found := range color.FindAllStringSubmatch(set, -1) {
		colors[found[1]] = luminance(t, found[2])
	}
	for _, pair := range pairs {
		text, found := colors[pair[0]]
		behind, behindFound := colors[pair[1]]
		if ratio := (max(text, behind) + 0.05) / (min(text, behind) + 0.05); !found || !behindFound || ratio < least {
			t.Errorf("%s: %s on %s has a contrast of %.1f, expected at least %.1f", where, pair[0], pair[1], ratio, least)
		}
	}
}

// luminance is how bright a color such as "#8e1519" or "#fff" is, as WCAG 2.2 defines it.
func luminance(t *testing.T, color string) float64 {
	t.Helper()
	if len(color) == 4 {
		color = "#" + strings.Repeat(color[1:2], 2) + strings.Repeat(color[2:3], 2) + strings.Repeat(color[3:4], 2)
	}
	var sum float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		value, err := strconv.ParseUint(color[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		channel := float64(value) / 255
		if channel <= 0.04045 {
			channel /= 12.92
		} else {
			channel = math.Pow((channel+0.055)/1.055, 2.4)
		}
		sum += weight * channel
	}
	return sum
}
