package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/operator"
	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/conformance/image"
	"github.com/example/operator-testbed/e2e/demo"
)

// conformanceFlags are what can be chosen about the operator that is checked.
type conformanceFlags struct {
	operator, manifests, mapping string
	patience                     time.Duration
	markdown                     bool
}

func newConformance() *cobra.Command {
	var flags conformanceFlags
	command := &cobra.Command{
		Use:   "conformance",
		Short: "Check any Memcached operator against the contract, point by point",
		Long: `conformance runs an operator on a cluster of its own, as a process with its own
ServiceAccount's rights, and says of each point of the contract whether it holds.
Without flags it checks the operator of this repository. Out of an image it takes the
program, because nothing here could run a container.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runConformance(command.Context(), flags)
		},
	}
	set := command.Flags()
	set.StringVar(&flags.operator, "operator", "", "the operator's executable or image, an archive or a reference (default: the one of this repository, built now)")
	set.StringVar(&flags.manifests, "manifests", "", "folder of the kustomization, or file of the manifests, that installs it (default: operator/config/default)")
	set.StringVar(&flags.mapping, "mapping", "", "file that says what its API calls what (default: e2e/conformance/mappings/operator-testbed.yaml)")
	set.DurationVar(&flags.patience, "patience", 30*time.Second, "how long a claim may take to come true")
	set.BoolVar(&flags.markdown, "markdown", false, "print the table in Markdown")
	return command
}

// errNotConformant is the end of a run in which a claim did not hold.
var errNotConformant = errors.New("not every point holds")

func runConformance(ctx context.Context, flags conformanceFlags) error {
	root, err := cluster.Root(ctx)
	if err != nil {
		return err
	}
	mapping, err := conformance.ReadMapping(cmp.Or(flags.mapping, filepath.Join(root, "e2e", "conformance", "mappings", "operator-testbed.yaml")))
	if err != nil {
		return err
	}
	manifests := cmp.Or(flags.manifests, filepath.Join(root, "operator", "config", "default"))
	work, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	program, err := subject(ctx, root, flags.operator, manifests, work)
	if err != nil {
		return afterStop(ctx, err, "nothing is left running")
	}
	if _, err := embedded.Assets(ctx, os.Stderr); err != nil {
		return afterStop(ctx, err, "nothing is left running, and what was built is kept")
	}
	screen := demo.ScreenOn(os.Stderr)
	defer screen.Close()
	report, err := conformance.Run(ctx, conformance.Options{
		Operator:  program,
		Manifests: manifests,
		Mapping:   mapping,
		Patience:  flags.patience,
		Progress:  newReport(screen).steps("Conformance"),
	})
	screen.Close()
	if err != nil {
		return afterStop(ctx, err, "nothing is left running")
	}
	if flags.markdown {
		fmt.Print(report.Markdown())
	} else {
		fmt.Print(report.Text())
	}
	holding, applying := report.Holds()
	fmt.Fprintf(os.Stderr, "%d of %d points hold\n", holding, applying)
	if holding < applying {
		return errNotConformant
	}
	return nil
}

// subject returns the program of the operator that was named, or of the one of the clone at root.
func subject(ctx context.Context, root, named, manifests, work string) (image.Program, error) {
	if named == "" {
		program, err := operator.Build(ctx, root, operator.Finished)
		return image.Program{Path: program.Binary}, err
	}
	fmt.Fprintf(os.Stderr, "looking at the operator %s\n", named)
	return conformance.Program(ctx, named, manifests, work)
}
