package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/doctor"
)

func newDoctor() *cobra.Command {
	var network bool
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Report what this machine lacks, and the command that fixes it",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			facts, err := doctor.Gather(command.Context(), network)
			if err != nil {
				return err
			}
			if doctor.Report(command.OutOrStdout(), doctor.Examine(facts)) > 0 {
				return errors.New("fix what is lacking above, then run make doctor again")
			}
			return nil
		},
	}
	command.Flags().BoolVar(&network, "network", false, "also try the Go module proxy")
	return command
}
