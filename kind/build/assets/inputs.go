package assets

import (
	"github.com/example/operator-testbed/kind/build/internal/recipe"
)

// Inputs stands for what a module's tools are built from, apart from the
// toolchain: its go.mod, go.sum and Go files.
func Inputs(module string) (string, error) {
	sources, err := recipe.Sources(module)
	return string(sources), err
}
