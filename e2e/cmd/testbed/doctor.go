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
		Short: "Say what this machine lacks, and the command that mends it",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			facts, err := doctor.Gather(command.Context(), network)
			if err != nil {
				return err
			}
			if doctor.Report(command.OutOrStdout(), doctor.Examine(facts)) > 0 {
				return errors.New("mend what is lacking above, then ask make doctor again")
			}
			return nil
		},
	}
	command.Flags().BoolVar(&network, "network", false, "try the Go module proxy too")
	return command
}
