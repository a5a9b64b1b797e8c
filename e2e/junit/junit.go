// Package junit writes results as JUnit's XML, as most programs read it.
package junit

import (
	"encoding/xml"
	"fmt"
	"time"
)

// Suite is a test suite. [Suite.Add] keeps its numbers.
type Suite struct {
	XMLName    xml.Name    `xml:"testsuite"`
	Name       string      `xml:"name,attr"`
	Tests      int         `xml:"tests,attr"`
	Failures   int         `xml:"failures,attr"`
	Errors     int         `xml:"errors,attr"`
	Skipped    int         `xml:"skipped,attr"`
	Time       string      `xml:"time,attr,omitempty"` // see Seconds
	Properties *properties `xml:"properties"`          // see Suite.Set
	Cases      []Case      `xml:"testcase"`
}

// properties are what else is known of a suite.
type properties struct {
	All []property `xml:"property"`
}

type property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// Case is a test. It has passed unless it has a Failure, an Error or is Skipped.
type Case struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    string   `xml:"time,attr,omitempty"` // see Seconds
	Failure *Message `xml:"failure"`
	Error   *Message `xml:"error"`
	Skipped *Message `xml:"skipped"`
}

// Message says why a test has not passed, in a few words and at length.
type Message struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Set adds a property to the suite.
func (s *Suite) Set(name, value string) {
	if s.Properties == nil {
		s.Properties = &properties{}
	}
	s.Properties.All = append(s.Properties.All, property{name, value})
}

// Seconds returns a duration as the Time of a suite or a case. A document that should be the same in each run has no times.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// Add adds a test to the suite and counts it.
func (s *Suite) Add(c Case) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

// Encode returns the suite as a document.
func (s Suite) Encode() ([]byte, error) { return encode(s) }

// Encode returns several suites as one document.
func Encode(suites []Suite) ([]byte, error) {
	all := struct {
		XMLName  xml.Name `xml:"testsuites"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Skipped  int      `xml:"skipped,attr"`
		Suites   []Suite
	}{Suites: suites}
	for _, s := range suites {
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		all.Skipped += s.Skipped
	}
	return encode(all)
}

func encode(document any) ([]byte, error) {
	out, err := xml.MarshalIndent(document, "", "  ")
	return append([]byte(xml.Header), append(out, '\n')...), err
}
