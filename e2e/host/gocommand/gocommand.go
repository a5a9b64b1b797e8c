// Package gocommand gives the Go command the settings with which everything in this repository is compiled. A profile, `go env -w` or a
// go.work in a directory above may have others, such as GOFLAGS=-mod=vendor, with which nothing here builds.
//
// scripts/go-settings.mk does the same for make. Programs that are typed without make call [Setup].
package gocommand

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

// FlagsVariable names the environment variable with more flags for the Go command, and ProfileVariable the one that repeats what Setup
// or make has replaced.
const (
	FlagsVariable   = "TESTBED_GOFLAGS"
	ProfileVariable = "TESTBED_GO_PROFILE"
)

// buildFlags are those that Kubernetes is built with (kind/build): the build cache holds a package once for each set of flags.
const buildFlags = "-trimpath -buildvcs=false -gcflags=all=-dwarf=false"

// settings are the variables that Setup sets. None is empty, because the Go command takes an empty one from what `go env -w` has
// written.
func settings() map[string]string {
	return map[string]string{
		"GOWORK":      "off",
		"GO111MODULE": "on",
		"GOFLAGS":     strings.TrimSpace(buildFlags + " " + os.Getenv(FlagsVariable)),
		"CGO_ENABLED": "0",
		"GOOS":        runtime.GOOS,
		"GOARCH":      runtime.GOARCH,
	}
}

// removed are the variables that would make the Go command use another installation, or build for another processor.
var removed = []string{"GOROOT", "GOAMD64", "GOARM64", "GOEXPERIMENT"}

// Setup sets the environment of this process for the Go commands that it runs, directly or not.
func Setup() error {
	var profile []string
	replace := func(name, value string) {
		if old := os.Getenv(name); old != "" && old != value && name != "CGO_ENABLED" { // which makes no difference to our code
			profile = append(profile, name+"="+old)
		}
	}
	for name, value := range settings() {
		replace(name, value)
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	for _, name := range removed {
		replace(name, "")
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	if os.Getenv(ProfileVariable) != "" {
		return nil // make has set it, and what it has replaced can't be seen any more
	}
	slices.Sort(profile)
	return os.Setenv(ProfileVariable, strings.Join(profile, separator))
}

// separator is between the variables in ProfileVariable.
const separator = ";"

// Profile returns the variables ("NAME=value") of the user's environment that Setup or make has replaced.
func Profile() []string {
	var profile []string
	for part := range strings.SplitSeq(os.Getenv(ProfileVariable), separator) {
		if variable := strings.TrimSpace(part); variable != "" { // make has put spaces between them
			profile = append(profile, variable)
		}
	}
	return profile
}

// Unset returns the environment without the variables that Setup sets. A Go command that has it uses what `go env -w` has written, and
// a go.work.
func Unset(environment []string) []string {
	names := settings()
	return slices.DeleteFunc(slices.Clone(environment), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		_, set := names[name]
		return set
	})
}
