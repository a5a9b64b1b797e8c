package conformance

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestIsAboutElection(t *testing.T) {
	for word, want := range map[string]bool{
		"--leader-elect":              true,
		"--leader-elect=true":         true,
		"--enable-leader-election":    true,
		"LEADER_ELECTION_NAMESPACE":   true,
		"leases":                      true,
		"*":                           true,
		"--leader-elect=false":        false,
		"--metrics-bind-address=:443": false,
		"configmaps":                  false,
	} {
		NewWithT(t).Expect(isAboutElection(word)).To(Equal(want), word)
	}
}
