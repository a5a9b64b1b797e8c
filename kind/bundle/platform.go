package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// systems are those that an embedded cluster runs on.
var systems = []string{"linux", "darwin"}

// here is this machine's platform.
const here = runtime.GOOS + "/" + runtime.GOARCH

// platformsOf returns the platforms that are asked for, sorted and each once: this machine's where none is.
func platformsOf(ctx context.Context, asked string) ([]string, error) {
	known, err := output(ctx, nil, "go", "tool", "dist", "list")
	if err != nil {
		return nil, err
	}
	return parse(asked, strings.Fields(known))
}

func parse(asked string, known []string) ([]string, error) {
	platforms := strings.FieldsFunc(asked, func(r rune) bool { return r == ' ' || r == ',' })
	if len(platforms) == 0 {
		return []string{here}, nil
	}
	for _, platform := range platforms {
		system, _, _ := strings.Cut(platform, "/")
		if !slices.Contains(known, platform) || !slices.Contains(systems, system) {
			return nil, fmt.Errorf(`PLATFORMS has %s, where no embedded cluster runs: use some of linux/amd64, linux/arm64, darwin/amd64 and darwin/arm64, with blanks between them`, platform)
		}
	}
	slices.Sort(platforms)
	return slices.Compact(platforms), nil
}

// clusterOf is the folder of a bundle that has a platform's programs of the embedded cluster.
func clusterOf(platform string) string {
	return clusterDir + strings.ReplaceAll(platform, "/", "-") + "/"
}
