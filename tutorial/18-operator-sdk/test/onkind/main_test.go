package onkind_test

import (
	"os"
	"testing"

	"github.com/example/operator-testbed/e2e/reaper"
)

func TestMain(m *testing.M) { os.Exit(reaper.Run(m)) }
