package junit_test

import (
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/junit"
)

func TestEncode(t *testing.T) {
	one := junit.Suite{Name: "one"}
	one.Set("score", "3")
	one.Set("max_score", "5")
	one.Add(junit.Case{Class: "one", Name: "TestA"})
	one.Add(junit.Case{Class: "one", Name: "TestB", Failure: &junit.Message{Message: "fails", Text: "<b>\x1b"}})
	two := junit.Suite{Name: "two", Time: junit.Seconds(1500 * time.Millisecond)}
	two.Add(junit.Case{Class: "two", Name: "TestC", Error: &junit.Message{Message: "no cluster"}})
	two.Add(junit.Case{Class: "two", Name: "TestD", Time: junit.Seconds(0), Skipped: &junit.Message{Message: "left out"}})
	const header = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"
	for name, test := range map[string]struct {
		encode func() ([]byte, error)
		want   string
	}{
		"one suite": {one.Encode, header + `<testsuite name="one" tests="2" failures="1" errors="0" skipped="0">
  <properties>
    <property name="score" value="3"></property>
    <property name="max_score" value="5"></property>
  </properties>
  <testcase classname="one" name="TestA"></testcase>
  <testcase classname="one" name="TestB">
    <failure message="fails">&lt;b&gt;` + "\uFFFD" + `</failure>
  </testcase>
</testsuite>
`},
		"several": {func() ([]byte, error) { return junit.Encode([]junit.Suite{two, {Name: "none"}}) }, header + `<testsuites tests="2" failures="0" errors="1" skipped="1">
  <testsuite name="two" tests="2" failures="0" errors="1" skipped="1" time="1.500">
    <testcase classname="two" name="TestC">
      <error message="no cluster"></error>
    </testcase>
    <testcase classname="two" name="TestD" time="0.000">
      <skipped message="left out"></skipped>
    </testcase>
  </testsuite>
  <testsuite name="none" tests="0" failures="0" errors="0" skipped="0"></testsuite>
</testsuites>
`},
	} {
		if got, err := test.encode(); err != nil || string(got) != test.want {
			t.Errorf("%s: got %v,\n%s\nexpected\n%s", name, err, got, test.want)
		}
	}
}
