package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// architecturesOf returns the sorted architectures of platforms such as "linux/amd64,linux/arm64", without duplicates.
func architecturesOf(ctx context.Context, platforms string) ([]string, error) {
	known, err := exec.CommandContext(ctx, "go", "tool", "dist", "list").Output()
	if err != nil {
		return nil, fmt.Errorf("list the platforms that Go compiles for: %w", err)
	}
	return parse(platforms, strings.Fields(string(known)))
}

// parse returns the architectures of the platforms, which are separated by commas or spaces. All of them must be known and Linux.
func parse(platforms string, known []string) ([]string, error) {
	asked := strings.FieldsFunc(platforms, func(r rune) bool { return r == ',' || r == ' ' })
	if len(asked) == 0 {
		return nil, errors.New("PLATFORMS is empty: name some, as in PLATFORMS=linux/amd64,linux/arm64")
	}
	var architectures []string
	for _, platform := range asked {
		architecture, linux := strings.CutPrefix(platform, "linux/")
		if !linux || !slices.Contains(known, platform) {
			return nil, fmt.Errorf("PLATFORMS has %s, which is not a Linux platform that Go compiles for: use linux/amd64, linux/arm64 and others of `go tool dist list`, separated by commas", platform)
		}
		architectures = append(architectures, architecture)
	}
	slices.Sort(architectures)
	return slices.Compact(architectures), nil
}
