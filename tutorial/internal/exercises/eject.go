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

// Eject makes the new directory dir a separate project, of the finished operator, or of the one called stage: for an author who begins
// an operator, not for a learner. Its module is called module; empty means a name that every copy has.
func Eject(ctx context.Context, root, stage, dir, module string, out io.Writer) error {
	options := eject.Options{Root: root, Directory: eject.Operator, Module: cmp.Or(module, moduleName), Without: eject.OperatorOwn, To: dir}
	if stage != "" {
		names, err := operators(root)
		if err != nil {
			return err
		}
		if !slices.Contains(names, stage) {
			if err := chapter.RenamedError(root, stage); err != nil {
				return err
			}
			return fmt.Errorf("there is no operator in STAGE=%s: use one of %s, or none for the finished one", stage, strings.Join(names, ", "))
		}
		options.Directory, options.Without = "tutorial/"+stage, chapter.Own
	}
	withoutGo := eject.WithoutGo(root, options.Directory)
	if withoutGo && module != "" {
		return fmt.Errorf("STAGE=%s has no Go module: leave MODULE=%s out", stage, module)
	}
	if err := modversion.CheckImportPath(options.Module); err != nil {
		return fmt.Errorf("MODULE=%s can't be the name of a module, give one such as %s: %w", options.Module, moduleName, err)
	}
	if withoutGo {
		if err := eject.Eject(ctx, options); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s is now a separate project. In it, kubectl apply --server-side -k config/crd installs its API, and ./operator run runs it, both on the cluster of your KUBECONFIG.\n", dir)
		return nil
	}
	protect, err := scripts(root, "protected.mk")
	if err != nil {
		return err
	}
	options.GNUmakefile = "include Makefile\n\n" + protect
	if err := eject.Eject(ctx, options); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s is now a separate project, the module %s. Run make in it to list its targets, and begin with make test. The targets act on the cluster of your KUBECONFIG.\n", dir, options.Module)
	return nil
}

// operators returns the names of the chapters that have something to build, and of the projects of Operator SDK without Go in them, such
// as 18-operator-sdk/helm.
func operators(root string) ([]string, error) {
	tutorial := filepath.Join(root, "tutorial")
	var names []string
	for _, pattern := range []string{filepath.Join("*", "Makefile"), filepath.Join("*", "*", "PROJECT")} {
		files, err := filepath.Glob(filepath.Join(tutorial, pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			name, err := filepath.Rel(tutorial, filepath.Dir(file))
			if err != nil {
				return nil, err
			}
			names = append(names, filepath.ToSlash(name))
		}
	}
	return names, nil
}
