package classroom_test

import (
	"os"
	"testing"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/reaper"
	"github.com/example/operator-testbed/tutorial/internal/grade/manifests"
	"github.com/example/operator-testbed/tutorial/internal/isolation"
)

func TestMain(m *testing.M) {
	isolation.Main()
	manifests.Main()
	supervisor.Main()
	os.Exit(reaper.Run(m))
}
