package progress_test

import (
	"strings"
	"testing"

	"github.com/example/operator-testbed/tutorial/internal/event"
	"github.com/example/operator-testbed/tutorial/internal/progress"
)

func TestProgress(t *testing.T) {
	hint := func(stage, lab string) event.Event { return event.Event{Stage: stage, Lab: lab, Kind: event.Hint} }
	check := func(stage, lab, only string, passed int) event.Event {
		e := event.Event{Stage: stage, Lab: lab, Only: only, Kind: event.Check, Outcome: event.Fail, Passed: passed, Of: 5, FirstFailed: "TestSize"}
		if passed == 5 {
			e.Outcome = event.Pass
		}
		return e
	}
	events := []event.Event{
		check("03-controller", "", "", 1),
		check("03-controller", "", "", 5),
		check("03-controller", "", "", 4), // in another copy, or later: what is done stays done
		hint("04-status", ""),
		hint("04-status", ""),
		check("04-status", "", "", 3),
		check("04-status", "", "TestSize", 5), // a part
		hint("06-watches", ""),
		{Stage: "07-rbac", Kind: event.Check, Outcome: event.NotBuilt},
		{Stage: "08-deployment", Kind: event.Reset},
		check("10-finalizers", "ghost-booking", "", 5),
		check("03-controller", "no-answer", "", 2),
		hint("03-controller", "no-answer"),
	}
	var out strings.Builder
	progress.Of(
		[]string{"03-controller", "04-status", "06-watches", "07-rbac", "08-deployment", "10-finalizers"},
		[]string{"hands-off", "no-answer", "ghost-booking"}, events,
	).Print(&out)
	const want = `  03-controller        done
  04-status            3 of 5 features hold; TestSize does not (2 hints)
  06-watches           not checked yet (1 hint)
  07-rbac              does not compile
  08-deployment        -
  10-finalizers        -
  no-answer            2 of 5 features hold; TestSize does not (1 hint)
  ghost-booking        done

1 of 6 chapters and 1 of 3 labs are done.
`
	if out.String() != want {
		t.Errorf("got:\n%s\nexpected:\n%s", out.String(), want)
	}
}
