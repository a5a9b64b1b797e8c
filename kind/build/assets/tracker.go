package assets

import (
	"os"
	"path/filepath"
	"time"

	"github.com/example/operator-testbed/kind/build/internal/recipe"
)

// tracker follows a build by the packages that the go command says it compiles.
// The go command is silent about those that it has compiled before, so a package
// also counts as compiled once something that imports it is.
type tracker struct {
	packages recipe.Packages
	// weight is about how long a package takes to compile, in bytes of source.
	weight map[string]int64

	compiled map[string]bool
	// left and spent are weights: of what is not compiled yet, and of what has
	// been compiled since the start, not before.
	left, spent int64
	started     time.Time
}

// importWeight is what it costs to read what a package imports, directly or not,
// for each of these packages: as much as so many bytes of the package's own
// source. Measured on Kubernetes v1.37; without it the estimate for a build from
// nothing is a third of the truth for most of the time.
const importWeight = 300

// newTracker follows the build of programs from now on.
func newTracker(packages recipe.Packages, programs []recipe.Program) *tracker {
	t := &tracker{
		packages: packages,
		weight:   map[string]int64{},
		compiled: map[string]bool{},
		started:  time.Now(),
	}
	for _, program := range programs {
		for _, p := range packages.Closure(program.Package) {
			// The program's own package is compiled when it is linked.
			if _, known := t.weight[p.ImportPath]; !known && p.Name != "main" {
				weight := sourceSize(p) + importWeight*int64(len(packages.Closure(p.ImportPath)))
				t.weight[p.ImportPath] = weight
				t.left += weight
			}
		}
	}
	return t
}

// sourceSize is in bytes. A file that can't be read is the compiler's to report.
func sourceSize(p *recipe.Package) int64 {
	var size int64
	for _, files := range [][]string{p.GoFiles, p.SFiles} {
		for _, name := range files {
			if info, err := os.Stat(filepath.Join(p.Dir, name)); err == nil {
				size += info.Size()
			}
		}
	}
	return size
}

// compiles notes that the go command has begun to compile a package. It is false
// for what is no package.
func (t *tracker) compiles(importPath string) bool {
	if _, known := t.weight[importPath]; !known {
		return false
	}
	t.spent += t.weight[importPath]
	// What it imports comes before it.
	for queue := []string{importPath}; len(queue) > 0; {
		path := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		weight, known := t.weight[path]
		if !known || t.compiled[path] {
			continue
		}
		t.compiled[path] = true
		t.left -= weight
		queue = append(queue, t.packages[path].Needs()...)
	}
	return true
}

// count is how many packages are compiled, of how many.
func (t *tracker) count() (compiled, total int) { return len(t.compiled), len(t.weight) }

// enough is how long a build must have run before its speed says anything.
const enough = 10 * time.Second

// estimate is the time until everything is compiled, 0 while nobody can tell.
func (t *tracker) estimate(now time.Time) time.Duration {
	elapsed := now.Sub(t.started)
	if elapsed < enough || t.spent == 0 {
		return 0
	}
	return time.Duration(float64(elapsed) * float64(t.left) / float64(t.spent))
}
