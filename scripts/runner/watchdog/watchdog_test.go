package watchdog_test

import (
	"testing"
	"time"

	"github.com/example/operator-testbed/scripts/runner/process"
	"github.com/example/operator-testbed/scripts/runner/watchdog"
)

// TestLook follows runs until the watchdog takes them for ones that hang, which is after three looks without a sign of life.
func TestLook(t *testing.T) {
	// running is a process that has used more processor time at each look.
	running := func(name string, each time.Duration) func(look int) []process.Info {
		return func(look int) []process.Info {
			return []process.Info{{PID: 7, Name: name, CPU: time.Duration(look+1) * each}}
		}
	}
	none := func(int) []process.Info { return nil }
	always := func(int) bool { return true }
	never := func(int) bool { return false }
	const looks = 100
	for name, test := range map[string]struct {
		happened  func(look int) bool
		processes func(look int) []process.Info
		hangs     int // at which look; -1 means never
	}{
		"nothing happens":         {never, none, 2},
		"tests print":             {always, none, -1},
		"one prints now and then": {func(look int) bool { return look%3 == 2 }, none, -1},
		"one stops printing":      {func(look int) bool { return look < 10 }, none, 12},
		"a compiler computes":     {never, running("compile", time.Second), -1},
		"a linker computes":       {never, running("link", time.Second), -1},
		"a linter computes":       {never, running("golangci-lint", time.Second), -1},
		"a compiler is slow":      {never, running("compile", 100*time.Millisecond), -1},
		"a test computes":         {never, running("memcached.test", time.Second), 2},
		"the Go command waits":    {never, running("go", 100*time.Millisecond), 2},
		"a linker hangs":          {never, func(int) []process.Info { return []process.Info{{PID: 7, Name: "link", CPU: time.Minute}} }, 3},
		"a compiler was left over": {never, func(int) []process.Info {
			return []process.Info{{PID: 7, Name: "compile", CPU: time.Second, Exited: true}}
		}, 2},
		"one compiler after another": {never, func(look int) []process.Info {
			return []process.Info{{PID: look, Name: "compile"}}
		}, -1},
	} {
		w := watchdog.New(30*time.Second, 3)
		hangs := -1
		for look := range looks {
			if w.Look(test.happened(look), test.processes(look)) {
				hangs = look
				break
			}
		}
		if hangs != test.hangs {
			t.Errorf("%s: it hangs at look %d, expected %d", name, hangs, test.hangs)
		}
	}
}

// Where a run goes on after what hung was ended, the next one that hangs is found as well.
func TestLookStartsOver(t *testing.T) {
	w := watchdog.New(30*time.Second, 2)
	var found []int
	for look := range 6 {
		if w.Look(false, nil) {
			found = append(found, look)
		}
	}
	if len(found) != 3 || found[0] != 1 || found[1] != 3 || found[2] != 5 {
		t.Errorf("it hangs at the looks %v", found)
	}
}
