package assets

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/example/operator-testbed/kind/build/internal/recipe"
)

// chain is a program that imports top, which imports middle, which imports base.
// Each package has one source file of a hundred bytes, so that base weighs 400,
// middle 700 and top 1000.
func chain(t *testing.T) (recipe.Packages, []recipe.Program) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.go"), make([]byte, 100), 0o644); err != nil {
		t.Fatal(err)
	}
	packages := recipe.Packages{}
	for path, imports := range map[string][]string{"main": {"top"}, "top": {"middle"}, "middle": {"base"}, "base": nil} {
		packages[path] = &recipe.Package{ImportPath: path, Name: path, Dir: dir, GoFiles: []string{"x.go"}, Imports: imports}
	}
	return packages, []recipe.Program{{Name: "program", Package: "main"}}
}

func TestTrackerCountsWhatIsReused(t *testing.T) {
	tracker := newTracker(chain(t))
	if compiled, total := tracker.count(); compiled != 0 || total != 3 {
		t.Errorf("%d of %d before the start, expected 0 of 3", compiled, total)
	}
	// The go command says nothing of base, which it has compiled before.
	if !tracker.compiles("middle") {
		t.Error("middle is no package")
	}
	if compiled, _ := tracker.count(); compiled != 2 {
		t.Errorf("%d packages are compiled, expected middle and base", compiled)
	}
	if tracker.compiles("# middle") {
		t.Error("a line of an error message is taken for a package")
	}
	tracker.compiles("top")
	if compiled, _ := tracker.count(); compiled != 3 || tracker.left != 0 {
		t.Errorf("%d packages are compiled and %d bytes left, expected 3 and 0", compiled, tracker.left)
	}
}

func TestEstimateFollowsTheSpeed(t *testing.T) {
	packages, programs := chain(t)
	synctest.Test(t, func(t *testing.T) {
		tracker := newTracker(packages, programs)
		tracker.compiles("base")
		if left := tracker.estimate(time.Now().Add(time.Second)); left != 0 {
			t.Errorf("after a second the estimate is %s, expected none", left)
		}
		if left := tracker.estimate(time.Now().Add(time.Minute)); left != time.Minute*(700+1000)/400 {
			t.Errorf("when base took a minute the estimate for the others is %s", left)
		}
	})
}

func TestEstimateIgnoresWhatIsReused(t *testing.T) {
	packages, programs := chain(t)
	synctest.Test(t, func(t *testing.T) {
		tracker := newTracker(packages, programs)
		tracker.compiles("middle") // and base was there
		if left := tracker.estimate(time.Now().Add(7 * time.Minute)); left != 10*time.Minute {
			t.Errorf("when middle took 7m the estimate for top is %s, expected 10m", left)
		}
	})
}
