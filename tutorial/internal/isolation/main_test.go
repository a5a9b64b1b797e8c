package isolation

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/example/operator-testbed/e2e/reaper"
)

// The first arguments of these tests when they are executed as a grader: to choose walls and print the error, or to run a cell until
// they are killed.
const (
	chooseCommand = "choose"
	holdCommand   = "hold"
)

// temporary is a directory for all tests.
var temporary string

// asNobody is set where these tests run as a user with no permissions, by TestAsNobody: it holds the directory with the canary.
const asNobody = "ISOLATION_TEST_AS_NOBODY"

func TestMain(m *testing.M) {
	Main()
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case chooseCommand:
			_, err := Choose(context.Background(), os.Args[2])
			fmt.Println(err)
			os.Exit(0)
		case holdCommand:
			kind, variable, canary := os.Args[2], os.Args[3], os.Args[4]
			_, err := Walls{outer: kind}.Run(context.Background(), Command{
				Args: []string{canary, "daemon outlives", "sleep"}, Env: []string{variable}, Readable: []string{canary},
			})
			fmt.Println(err)
			os.Exit(1)
		}
	}
	if os.Getenv(asNobody) != "" { // part of the run of TestAsNobody
		os.Exit(run(m))
	}
	reaper.Main()
	reaped := reaper.Begin()
	code := run(m)
	reaped.End()
	os.Exit(code)
}

func run(m *testing.M) int {
	var err error
	if temporary, err = os.MkdirTemp("", "isolation-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(temporary)
	return m.Run()
}
