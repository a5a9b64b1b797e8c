package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/e2e/sdk"
)

// newScorecard makes the command that runs scorecard's tests for a bundle.
func newScorecard() *cobra.Command {
	var bundle string
	command := &cobra.Command{
		Use:   "scorecard",
		Short: "Run the tests of Operator SDK's scorecard for a bundle, without a cluster",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			tools, err := sdk.Beside()
			if err != nil {
				return err
			}
			results, err := tools.Scorecard(command.Context(), bundle)
			if err != nil {
				return err
			}
			if failed := reportScorecard(command.OutOrStdout(), results); failed > 0 {
				return fmt.Errorf("%d of scorecard's %d tests failed: correct the markers in api or the files in config/manifests, and type make build-bundle", failed, len(results))
			}
			return nil
		},
	}
	command.Flags().StringVar(&bundle, "bundle", filepath.Join("operator", "bundle"), "the `directory` of the bundle")
	return command
}

// reportScorecard writes a line for each test, and what those that failed have found. It returns how many failed.
func reportScorecard(out io.Writer, results []sdk.Result) (failed int) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range results {
		verdict := "pass"
		if !r.Passed {
			verdict = "FAIL"
			failed++
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", r.Suite, r.Test, strings.Join(append([]string{verdict}, r.Errors...), ": "))
	}
	_ = table.Flush() // to a terminal or a buffer
	fmt.Fprintf(out, "%d of %d tests passed\n", len(results)-failed, len(results))
	return failed
}
