package summary

import "regexp"

// allowance allows tests to be skipped.
type allowance struct {
	tests  *regexp.Regexp // PACKAGE TEST
	reason *regexp.Regexp // what the test prints
	why    string
}

func allow(tests, reason, why string) allowance {
	return allowance{regexp.MustCompile("^(" + tests + ")$"), regexp.MustCompile(reason), why}
}

// allowed are the skips that are not about tiers, and are not failures either.
var allowed = []allowance{}

// Unexpected returns the tests that were skipped although they do not belong to another tier, and no list allows that. They are
// failures: nobody would notice that what they prove is not proven any more.
func (r Run) Unexpected() []Skip {
	var unexpected []Skip
	for _, s := range r.skips {
		if s.Tier == "" && !s.allowed() {
			unexpected = append(unexpected, s)
		}
	}
	return unexpected
}

func (s Skip) allowed() bool {
	for _, a := range allowed {
		if a.tests.MatchString(s.Package+" "+s.Test) && a.reason.MatchString(s.Reason) {
			return true
		}
	}
	return false
}
