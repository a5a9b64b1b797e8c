package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"
	"sigs.k8s.io/e2e-framework/support"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/tutorial/lab"
)

// usageError is an error in how the program was called.
type usageError struct{ error }

// global holds the flags that every command has, and one that some have.
type global struct {
	// name is the cluster that the command is about.
	name string
	// version is the version of Kubernetes that was chosen for a new cluster, or "".
	version minorVersion
}

// minorVersion is a version of Kubernetes that a flag chooses by its minor version.
type minorVersion string

func (v *minorVersion) Set(minor string) error {
	found, err := embedded.FindVersion(minor)
	*v = minorVersion(found)
	return err
}

func (v *minorVersion) String() string { return string(*v) }

func (v *minorVersion) Type() string { return "version" }

// choosesVersion adds the flag for a version of Kubernetes to a command that starts clusters.
func (g *global) choosesVersion(command *cobra.Command) *cobra.Command {
	command.Flags().Var(&g.version, "kubernetes", fmt.Sprintf("minor version of Kubernetes: %s or, by default, %s",
		semver.MajorMinor(embedded.PreviousVersion), semver.MajorMinor(embedded.Version)))
	return command
}

// kubernetes returns the version of Kubernetes that a new cluster runs.
func (g *global) kubernetes() string { return cmp.Or(string(g.version), embedded.Version) }

func execute(ctx context.Context) error {
	called := false
	root := newRoot(func() { called = true })
	err := root.ExecuteContext(ctx)
	if err != nil && !called {
		return usageError{err}
	}
	return err
}

// newRoot makes the command tree. begins is called when a command was called
// correctly and starts its work.
func newRoot(begins func()) *cobra.Command {
	var g global
	var untilEOF bool
	root := &cobra.Command{
		Use:   "testbed",
		Short: "A Kubernetes cluster on this machine to learn, write and test operators on",
		Long: `testbed brings up a real Kubernetes control plane as processes of this machine,
with simulated nodes, and runs the Memcached operator of this repository on it.
The targets of the Makefile call it: "make" lists them.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRun: func(*cobra.Command, []string) {
			begins()
			if untilEOF {
				go terminateAtEOF(os.Stdin)
			}
		},
	}
	root.PersistentFlags().StringVar(&g.name, "name", embedded.DefaultName, "name of the cluster")
	root.PersistentFlags().BoolVar(&untilEOF, "until-eof", false, "stop when standard input is closed, for programs that may be killed")
	root.AddCommand(
		g.choosesVersion(newDemo(&g)),
		g.choosesVersion(newUp(&g, "cluster", "", "", func(ctx context.Context, out *report) error { return up(ctx, &g, out) })),
		newDown("cluster", func(ctx context.Context) (string, error) { return down(ctx, g.name) }),
		newEnv("cluster", "", func(ctx context.Context) (support.E2EClusterProvider, error) { return g.attachReady(ctx) }),
		newStatus(&g),
		newLogs(&g),
		newRun(&g),
		newKind(&g),
		newPool(),
		newImage(),
		newKustomize(),
		newRollout(),
		newConfirm(),
		g.choosesVersion(newConformance(&g)),
		newBench(),
		newScorecard(),
		newDoctor(),
		lab.Command(&g.name),
	)
	return root
}

// terminateAtEOF sends this process the signal that the program at the other end
// of the input would have sent, had it not been killed.
func terminateAtEOF(input io.Reader) {
	_, _ = io.Copy(io.Discard, input) // an input that can't be read has ended, too
	_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
}

// prints makes what a command does of a function that returns what to print.
func prints(text func(ctx context.Context, args []string) (string, error)) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		printed, err := text(command.Context(), args)
		if err == nil {
			_, err = fmt.Fprint(command.OutOrStdout(), printed)
		}
		return err
	}
}

// attach returns the cluster that is up under the name.
func (g *global) attach() (*embedded.Provider, error) {
	cluster, err := embedded.Attach(g.name)
	if notUp := new(embedded.NotUpError); errors.As(err, &notUp) {
		return nil, &notUpError{name: g.name}
	}
	return cluster, err
}

// attachReady is attach for commands that need the whole cluster: it refuses one
// that another command is still bringing up.
func (g *global) attachReady(ctx context.Context) (*embedded.Provider, error) {
	clusters, err := embedded.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range clusters {
		if c.Name == g.name && !c.Detached { // it is detached as soon as it may stay up
			return nil, fmt.Errorf("another command is starting the cluster %s: wait until it is done, then run this again", g.name)
		}
	}
	return g.attach()
}

// notUpError is embedded's error with the commands that help here.
type notUpError struct{ name string }

func (e *notUpError) Error() string {
	return "no cluster called " + e.name + " is up: make up" + ofName(e.name) + ", or make demo" + ofName(e.name)
}

// ofName is what a make command needs to be about a cluster.
func ofName(name string) string {
	if name == embedded.DefaultName {
		return ""
	}
	return " NAME=" + name
}
