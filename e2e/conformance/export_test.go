package conformance_test

import (
	"encoding/json"
	"encoding/xml"
	"flag"
	"os"
	"strings"
	"testing"
	"unicode"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/framework"
)

var update = flag.Bool("conformance.update", false, "write testdata/report.html again")

// exported is a report with each outcome, of two samples, one of whose names is hostile.
func exported() conformance.Report {
	points := []conformance.Point{
		{Number: "1", Claim: "conditions say which generation they are about"}, {Number: "2", Claim: "owned objects are put back when they are changed"},
		{Number: "6", Claim: "a restart writes nothing"}, {Number: "9", Claim: "permissions are named one by one"}, {Number: "10", Claim: "a deletion in the background leaves nothing"},
	}
	results := []framework.Result{
		{Feature: points[0].Claim, Outcome: framework.Holds},
		{Feature: points[1].Claim, Outcome: framework.DoesNotHold, Message: "Deployment changed-1: expected 1 at /spec/replicas to be put back;\nlast seen: 2 <b>& \x1b[1mmore\x1b[0m</b>"},
		{Feature: points[2].Claim, Outcome: framework.DoesNotHold, Message: "expected at most 0 writes; last seen: 1"},
		{Feature: points[3].Claim, Outcome: framework.DoesNotApply, Reason: "it has no role"},
	}
	report := append(conformance.NewReport(points, results).OfSample("samples/one.yaml"), conformance.NewReport(points[:1], results).OfSample("samples/<script>.yaml")...)
	report.Expect([]conformance.Known{{Point: points[2].Claim, Reason: "each start stamps <the> objects"}})
	return report
}

// The browser's test of this page opens the same file.
func TestHTML(t *testing.T) {
	g := NewWithT(t)
	content, err := exported().Render("report.html")
	g.Expect(err).NotTo(HaveOccurred())
	const file = "testdata/report.html"
	if *update {
		g.Expect(os.WriteFile(file, content, 0o644)).To(Succeed())
	}
	want, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content)).To(Equal(string(want)), "go test ./e2e/conformance -run TestHTML -conformance.update writes it again")
	g.Expect(string(content)).NotTo(ContainSubstring("<script"))
}

func TestJUnit(t *testing.T) {
	g := NewWithT(t)
	content, err := exported().Render("report.xml")
	g.Expect(err).NotTo(HaveOccurred())
	var suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
		Cases    []struct {
			Class   string `xml:"classname,attr"`
			Name    string `xml:"name,attr"`
			Failure string `xml:"failure"`
			Error   string `xml:"error"`
			Skipped struct {
				Message string `xml:"message,attr"`
			} `xml:"skipped"`
		} `xml:"testcase"`
	}
	g.Expect(xml.Unmarshal(content, &suite)).To(Succeed(), string(content))
	g.Expect([]int{suite.Tests, suite.Failures, suite.Errors, suite.Skipped}).To(Equal([]int{6, 1, 1, 2}))
	g.Expect(suite.Cases[0].Class).To(Equal("conformance.samples/one.yaml"))
	g.Expect(suite.Cases[1].Failure).To(Equal("Deployment changed-1: expected 1 at /spec/replicas to be put back;\nlast seen: 2 <b>& \\x1b[1mmore\\x1b[0m</b>"))
	g.Expect(suite.Cases[2].Skipped.Message).To(Equal("does not hold, as is known: each start stamps <the> objects"))
	g.Expect(suite.Cases[3].Skipped.Message).To(Equal("does not apply"))
	g.Expect(suite.Cases[4].Error).To(Equal("the suite ended before"))
	g.Expect(suite.Cases[5].Class).To(Equal("conformance.samples/<script>.yaml"))
}

func TestJSONLines(t *testing.T) {
	g := NewWithT(t)
	content, err := exported().Render("report.jsonl")
	g.Expect(err).NotTo(HaveOccurred())
	lines := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	g.Expect(lines).To(HaveLen(6))
	var result framework.Result
	g.Expect(json.Unmarshal([]byte(lines[2]), &result)).To(Succeed())
	g.Expect(result.Feature).To(Equal("a restart writes nothing"))
	g.Expect(result.Outcome).To(Equal(framework.DoesNotHold))
	g.Expect(result.Labels).To(Equal(map[string]string{"contract": "6", "sample": "samples/one.yaml", "known": "each start stamps <the> objects"}))
}

// The tables of a report about several samples say which is which, and what is known.
func TestTablesOfSamples(t *testing.T) {
	g := NewWithT(t)
	g.Expect(exported().Summary()).To(Equal("2 of 5 points hold (known not to: 1)"))
	markdown, err := exported().Render("report.md")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(markdown)).To(HavePrefix("samples/one.yaml:\n\n| point | claim | outcome |\n"))
	g.Expect(string(markdown)).To(ContainSubstring("| 6 | a restart writes nothing | does not hold, known |\n"))
	g.Expect(string(markdown)).To(ContainSubstring("\n\nsamples/<script>.yaml:\n\n| point | claim | outcome |\n"))
	text, err := exported().Render("report.txt")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(HavePrefix("samples/one.yaml\n1   holds                 conditions say which generation they are about\n"))
	g.Expect(string(text)).To(ContainSubstring("\n6 does not hold, known for one.yaml: a restart writes nothing.\n  known: each start stamps <the> objects\n  expected at most 0 writes; last seen: 1\n"))
}

func TestCheckFormat(t *testing.T) {
	NewWithT(t).Expect(conformance.CheckFormat("report.pdf")).To(MatchError(ContainSubstring("a report can't be written to report.pdf")))
}

// What an operator or a file of its author contains does nothing to the terminal, in whichever format it is printed.
func TestNoReportHasControlCharacters(t *testing.T) {
	const hostile = "a\x1b]0;title\a\rb\u009b2Jc\u202ed\xffe\uffff\tf\nlast"
	const escaped = `a\x1b]0;title\a\rb\u009b2Jc\u202ed\xffe\uffff` + "\tf\nlast"
	g := NewWithT(t)
	g.Expect(conformance.Escape(hostile)).To(Equal(escaped))
	for _, outcome := range []framework.Outcome{framework.Holds, framework.DoesNotHold, framework.DoesNotApply, framework.NotTried} {
		for _, result := range []framework.Result{{Message: hostile}, {Reason: hostile}} {
			result.Feature, result.Outcome = points[0].Claim, outcome
			hostileReport := conformance.NewReport(points[:1], []framework.Result{result}).OfSample(hostile)
			surprises, _ := hostileReport.Expect([]conformance.Known{{Point: points[0].Claim, Sample: hostile, Reason: hostile}})
			g.Expect(strings.Join(surprises, "\n")).NotTo(ContainSubstring("\x1b"))
			for _, file := range []string{"report.html", "report.jsonl", "report.md", "report.txt", "report.xml"} {
				content, err := hostileReport.Render(file)
				g.Expect(err).NotTo(HaveOccurred())
				for _, r := range string(content) {
					if r != '\n' && r != '\t' && (unicode.In(r, unicode.Cc, unicode.Cf) || r == unicode.ReplacementChar) {
						t.Errorf("%s has the character %q:\n%q", file, r, content)
						break
					}
				}
			}
		}
	}
}
