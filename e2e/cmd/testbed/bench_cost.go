package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"

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

// benchCostFlags are what can be chosen about the measurement of one operator.
type benchCostFlags struct {
	operator, manifests, condition string
	args, env                      []string
	objects                        int
	asJSON                         bool
}

func newBenchCost() *cobra.Command {
	var flags benchCostFlags
	command := &cobra.Command{
		Use:   "cost",
		Short: "Measure what any Memcached operator takes to create objects",
		Long: `Runs a Memcached operator on its own cluster, creates one Memcached of size 3 and
then many at once, and measures how long that takes, how often the operator writes,
and how much CPU time and memory it uses, together with the programs that it starts.
Without flags it measures the operator of this repository.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if flags.objects < 1 {
				return usageError{fmt.Errorf("--objects=%d measures nothing: use 1 or more", flags.objects)}
			}
			if (flags.operator == "") != (flags.manifests == "") {
				return usageError{errors.New("--operator and --manifests belong together: name the executable and the directory of its kustomization, or neither")}
			}
			defer tidy()
			cost, err := benchCost(command.Context(), flags)
			if err != nil {
				return interrupt.Explain(command.Context(), err, "nothing is left running")
			}
			out := command.OutOrStdout()
			if flags.asJSON {
				return json.NewEncoder(out).Encode(cost)
			}
			fmt.Fprintf(out, "%s/%s, %d CPUs, Kubernetes %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), embedded.Version)
			for _, row := range [][2]string{
				{"time until the first Memcached was up", fmt.Sprintf("%.1f s", cost.First.Seconds())},
				{fmt.Sprintf("time until %d more were up", cost.Objects), fmt.Sprintf("%.1f s", cost.All.Seconds())},
				{"writes for each of them", fmt.Sprintf("%.1f", cost.Writes)},
				{"CPU time for each of them", fmt.Sprintf("%.0f ms", 1000*cost.CPU.Seconds())},
				{"memory after the first one", fmt.Sprintf("%.0f MiB", cost.Memory)},
				{"peak memory", fmt.Sprintf("%.0f MiB", cost.PeakMemory)},
			} {
				fmt.Fprintf(out, "%-40s%s\n", row[0], row[1])
			}
			return nil
		},
	}
	set := command.Flags()
	set.StringVar(&flags.operator, "operator", "", "the operator's executable (default: the one of this repository, built now)")
	set.StringVar(&flags.manifests, "manifests", "", "directory of the kustomization that installs it")
	set.StringVar(&flags.condition, "condition", "Available", "type of the condition that users wait for")
	set.StringArrayVar(&flags.args, "arg", nil, "additional argument of the operator; can be repeated")
	set.StringArrayVar(&flags.env, "env", nil, "environment variable that takes precedence over those of the manifests, such as --env=NODE_NAME=node-1; can be repeated")
	set.IntVar(&flags.objects, "objects", 100, "number of objects that are created at once, after the first one")
	set.BoolVar(&flags.asJSON, "json", false, "print the figures as JSON")
	return command
}

func benchCost(ctx context.Context, flags benchCostFlags) (operators.Cost, error) {
	// All your permissions are the operator's: this is for operators that you trust, as bench operator's are.
	subject := operators.Subject{Binary: flags.operator, Args: flags.args, Env: flags.env}
	if flags.operator == "" {
		root, err := cluster.Root(ctx)
		if err != nil {
			return operators.Cost{}, err
		}
		program, err := operator.Build(ctx, root, operator.Finished)
		if err != nil {
			return operators.Cost{}, err
		}
		subject.Binary, subject.Manifests = program.Binary, program.Manifests
	} else {
		manifests, err := manifest.Render(flags.manifests)
		if err != nil {
			return operators.Cost{}, err
		}
		subject.Manifests = manifests
	}
	if _, err := embedded.Assets(ctx, os.Stderr); err != nil {
		return operators.Cost{}, err
	}
	ctrl.SetLogger(logr.Discard())
	return operators.MeasureCost(ctx, operators.CostOptions{
		Subject: subject, Condition: flags.condition, Objects: flags.objects, Progress: os.Stderr,
	})
}
