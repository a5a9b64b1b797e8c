package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// here is this machine's platform.
const here = runtime.GOOS + "/" + runtime.GOARCH

// platforms are those that an embedded cluster runs on.
var platforms = []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64"}

// platformsIn returns the platforms that a text names, sorted and without duplicates: this machine's if it names none.
func platformsIn(text string) ([]string, error) {
	named := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
	if len(named) == 0 {
		return []string{here}, nil
	}
	for _, platform := range named {
		if platform != here && !slices.Contains(platforms, platform) {
			return nil, fmt.Errorf("PLATFORMS has %s, where no embedded cluster runs: use some of %s, with blanks between them", platform, strings.Join(platforms, " "))
		}
	}
	slices.Sort(named)
	return slices.Compact(named), nil
}

// clusterOf is the directory of a bundle that has a platform's programs of the embedded cluster.
func clusterOf(platform string) string {
	return clusterDir + strings.ReplaceAll(platform, "/", "-") + "/"
}
