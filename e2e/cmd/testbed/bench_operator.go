package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/example/operator-testbed/e2e/bench/operators"
	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/operator"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/interrupt"
)

// benchOperatorFlags are what can be chosen about the benchmark of operators.
type benchOperatorFlags struct {
	scaffold         string
	objects, late    []int
	repairs, foreign int
	quiet            time.Duration
	podsReadyAfter   time.Duration
	plot             string
}

// complete takes --late=0 for no number at all, and checks the numbers.
func (f *benchOperatorFlags) complete() error {
	if slices.Equal(f.late, []int{0}) {
		f.late = nil
	}
	for _, flag := range []struct {
		name    string
		numbers []int
	}{{"objects", f.objects}, {"late", f.late}} {
		for _, n := range flag.numbers {
			if n < 1 {
				return fmt.Errorf("--%s=%d measures nothing: use 1 or more", flag.name, n)
			}
		}
	}
	return nil
}

func newBenchOperator() *cobra.Command {
	var flags benchOperatorFlags
	command := &cobra.Command{
		Use:   "operator",
		Short: "Measure the operator against a floor, and against kubebuilder's scaffold",
		Long: `Measures how long Memcacheds take until all are Available, until all have
another size and until all have other pods, and what the operator asks of the API
server for that, counted in the audit log, each on its own cluster. A target
that is missed is not a failure.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := flags.complete(); err != nil {
				return usageError{err}
			}
			results, err := benchOperator(command.Context(), flags)
			if err != nil {
				return interrupt.Explain(command.Context(), err, "nothing is left running")
			}
			out := command.OutOrStdout()
			fmt.Fprintf(out, "%s/%s, %d CPUs, Kubernetes %s\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), embedded.Version)
			if err := operators.WriteMarkdown(out, results, oursName); err != nil {
				return err
			}
			return writePlot(flags.plot, results)
		},
	}
	set := command.Flags()
	set.StringVar(&flags.scaffold, "scaffold", "", "directory that scripts/scaffold has generated; if empty, the scaffold is not measured")
	set.IntSliceVar(&flags.objects, "objects", []int{1, 100, 1000}, "numbers of objects")
	set.IntSliceVar(&flags.late, "late", []int{100}, "numbers of objects that are also measured with pods that take 5s to become ready; 0 for none")
	set.IntVar(&flags.repairs, "repairs", 100, "number of Deployments that are changed to measure their repair")
	set.IntVar(&flags.foreign, "foreign", 5000, "number of foreign Deployments that are created at the end")
	set.DurationVar(&flags.quiet, "quiet", 65*time.Second, "how long to do nothing, to count writes meanwhile")
	set.DurationVar(&flags.podsReadyAfter, "pods-ready-after", 0, "how long each pod takes to become ready")
	set.StringVar(&flags.plot, "plot", "", "SVG file for a chart of the results")
	return command
}

// The subjects, as the report calls them.
const (
	oursName     = "this operator"
	scaffoldName = "scaffold"
)

func benchOperator(ctx context.Context, flags benchOperatorFlags) ([]operators.Result, error) {
	root, err := cluster.Root(ctx)
	if err != nil {
		return nil, err
	}
	program, err := operator.Build(ctx, root, operator.Finished)
	if err != nil {
		return nil, err
	}
	var subjects []operators.Subject
	if flags.scaffold != "" {
		manifests, err := manifest.Render(filepath.Join(flags.scaffold, "config", "default"))
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, operators.Subject{
			Name: scaffoldName, Binary: filepath.Join(flags.scaffold, "bin", "manager"), Manifests: manifests,
			Args: []string{"--leader-elect=false"}, // outside a pod it does not know its namespace
		})
	}
	subjects = append(subjects, operators.Subject{Name: oursName, Binary: program.Binary, Manifests: program.Manifests})
	if _, err := embedded.Assets(ctx, os.Stderr); err != nil {
		return nil, err
	}
	ctrl.SetLogger(logr.Discard())
	defer tidy()
	return operators.Measure(ctx, operators.Options{
		Subjects: subjects, Objects: flags.objects, Repairs: flags.repairs, Foreign: flags.foreign, Quiet: flags.quiet,
		PodsReadyAfter: flags.podsReadyAfter,
		Late:           flags.late,
		Progress:       os.Stderr,
	})
}

func writePlot(path string, results []operators.Result) error {
	if path == "" {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return operators.WritePlot(file, results, "Memcached operators: what they cost")
}
