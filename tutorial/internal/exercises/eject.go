package exercises

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	modversion "golang.org/x/mod/module"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/eject"
)

// Eject makes the new directory dir a project of its own, of the finished operator, or of the chapter called stage: for somebody
// who begins an operator, not for a learner. Its module is called module; empty means a name that every copy has.
func Eject(ctx context.Context, root, stage, dir, module string, out io.Writer) error {
	module = cmp.Or(module, moduleName)
	if err := modversion.CheckImportPath(module); err != nil {
		return fmt.Errorf("MODULE=%s can't be the name of a module, give one such as %s: %w", module, moduleName, err)
	}
	options := eject.Options{Root: root, Directory: eject.Operator, Module: module, Without: eject.OperatorOwn, To: dir}
	if stage != "" {
		names, err := operators(root)
		if err != nil {
			return err
		}
		if !slices.Contains(names, stage) {
			return fmt.Errorf("there is no operator in STAGE=%s: use one of %s, or none for the finished one", stage, strings.Join(names, ", "))
		}
		options.Directory, options.Without = "tutorial/"+stage, chapter.Own
	}
	protect, err := scripts(root, "protected.mk")
	if err != nil {
		return err
	}
	options.GNUmakefile = "include Makefile\n\n" + protect
	if err := eject.Eject(ctx, options); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s is a project of its own now, the module %s. In it, make lists what there is to do: begin with make test. Its targets act on the cluster of your own KUBECONFIG.\n", dir, module)
	return nil
}

// operators returns the names of the chapters that have something to build.
func operators(root string) ([]string, error) {
	makefiles, err := filepath.Glob(filepath.Join(root, "tutorial", "*", "Makefile"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, makefile := range makefiles {
		names = append(names, filepath.Base(filepath.Dir(makefile)))
	}
	return names, nil
}
