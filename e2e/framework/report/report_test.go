package report_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/example/operator-testbed/e2e/framework/report"
)

const (
	one       = `{"test":"TestOne","outcome":"holds"}` + "\n"
	two       = `{"test":"TestTwo","outcome":"does not hold","message":"no pods","failed":true}` + "\n"
	noCluster = `{"feature":"the cluster starts","outcome":"not tried","reason":"no disk"}` + "\n"
)

func TestReport(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		limit   int
		want    []string // tests
		start   string   // a reason
		twice   string   // a test
		broken  string
		err     string
	}{
		"nothing":                      {},
		"two results":                  {content: one + two, want: []string{"TestOne", "TestTwo"}},
		"cut off":                      {content: one + strings.TrimSpace(two), want: []string{"TestOne"}},
		"no cluster":                   {content: noCluster, start: "no disk"},
		"twice":                        {content: one + two + one, want: []string{"TestOne", "TestTwo"}, twice: "TestOne", err: "it has more than one result for TestOne"},
		"not a result":                 {content: one + "PASS\n" + two, want: []string{"TestOne", "TestTwo"}, broken: "invalid character"},
		"without an outcome":           {content: `{"test":"TestOne"}` + "\n", broken: "has no outcome"},
		"a start after a result":       {content: one + noCluster, want: []string{"TestOne"}, broken: "this is another"},
		"a result after a start":       {content: noCluster + one, start: "no disk", broken: "this is another"},
		"two starts":                   {content: noCluster + noCluster, start: "no disk", broken: "this is another"},
		"as long as it may be":         {content: one + two, limit: len(one + two), want: []string{"TestOne", "TestTwo"}},
		"longer than that by one byte": {content: one + two, limit: len(one+two) - 1, want: []string{"TestOne"}, broken: "it is too long"},
	} {
		t.Run(name, func(t *testing.T) {
			var done []string
			r := report.Report{Limit: test.limit, Done: func(result report.Result) { done = append(done, result.Test) }}
			for line := range strings.Lines(test.content) {
				for _, part := range []string{line[:1], line[1:]} { // a line can come in parts
					if n, err := r.Write([]byte(part)); n != len(part) || err != nil {
						t.Fatal(n, err)
					}
				}
			}
			var got []string
			for _, result := range r.Results {
				got = append(got, result.Test)
			}
			if !slices.Equal(got, test.want) || !slices.Equal(done, test.want) {
				t.Errorf("got %q, and was called with %q; expected %q", got, done, test.want)
			}
			if (r.Start != nil) != (test.start != "") || r.Start != nil && r.Start.Reason != test.start {
				t.Errorf("the start is %+v, expected %q", r.Start, test.start)
			}
			if r.Twice("TestOne") != (test.twice == "TestOne") || r.Twice("TestTwo") {
				t.Error("the wrong tests have several results")
			}
			matches(t, r.Broken(), test.broken)
			matches(t, r.Err(), test.broken+test.err)

			var followed report.Report
			followed.Limit = test.limit
			matches(t, followed.Follow(iotest.OneByteReader(strings.NewReader(test.content))), test.broken+test.err)
		})
	}
}

func matches(t *testing.T, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, expected %q", err, want)
	}
}

func TestOf(t *testing.T) {
	r := report.Report{Results: []report.Result{{Test: "TestOne", Outcome: report.Holds}}}
	if got, found := r.Of("TestOne"); !found || got.Outcome != report.Holds {
		t.Errorf("got %+v, %v", got, found)
	}
	if got, found := r.Of("TestTwo"); found {
		t.Errorf("got %+v", got)
	}
}

// What is wrong with a report ends Follow at once, although the suite goes on, and so does what is wrong with its reader.
func TestFollowEnds(t *testing.T) {
	var r report.Report
	reader, writer := io.Pipe()
	go func() { _, _ = writer.Write([]byte(one + "PASS\n" + two)) }()
	matches(t, r.Follow(reader), "invalid character")
	_ = reader.Close()
	if _, found := r.Of("TestOne"); !found || len(r.Results) != 1 {
		t.Errorf("got %+v", r.Results)
	}
	long := strings.Replace(one, "holds", "holds\",\"message\":\""+strings.Repeat("x", 1<<20), 1)
	var complete report.Report
	if err := complete.Follow(strings.NewReader(long + two)); err != nil || len(complete.Results) != 2 {
		t.Errorf("got %d results, %v", len(complete.Results), err)
	}
	gone := errors.New("gone")
	if err := new(report.Report).Follow(iotest.ErrReader(gone)); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}
