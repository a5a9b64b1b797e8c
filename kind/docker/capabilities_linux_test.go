package main

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// The kernel shows the bounding set in this process's status as well, in hexadecimal.
func TestMissingCapabilities(t *testing.T) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	bounds, err := strconv.ParseUint(regexp.MustCompile(`(?m)^CapBnd:\s*(\w+)$`).FindStringSubmatch(string(status))[1], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	missing := missingCapabilities()
	for number, name := range capabilities[:37] { // which every kernel that is in use knows
		if isMissing := bounds>>number&1 == 0; isMissing != slices.Contains(missing, "CAP_"+name) {
			t.Errorf("CAP_%s: the missing capabilities are %q, and the bounding set %x", name, missing, bounds)
		}
	}
}
