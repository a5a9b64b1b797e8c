package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
)

// job runs a suite that has been built, with more variables.
type job func(ctx context.Context, env ...string)

// work does jobs one after another, on one cluster that stays: each suite resets it first. It exits with this program, however that
// exits.
func work(ctx context.Context, name string, crds []string, jobs <-chan job) (err error) {
	cluster := embedded.NewProvider()
	cluster.WithName(name).WithOpts(embedded.WithCRDs(crds...))
	if _, err := cluster.Create(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Destroy(context.WithoutCancel(ctx))) }()
	for do := range jobs {
		do(ctx, "TESTBED_CLUSTER="+name)
	}
	return nil
}

// clusterName names a worker's cluster, beside those of other runs.
func clusterName(worker int) string { return fmt.Sprintf("mutants-%d-%d", os.Getpid(), worker) }

// definitions are the files of the operators' CustomResourceDefinitions, one of each name: a cluster that has a CRD from its start serves
// it earlier, and the suite replaces it where its version differs.
func definitions(targets []*target) ([]string, error) {
	files := map[string]string{} // by name
	for _, t := range targets {
		found, err := filepath.Glob(filepath.Join(t.root, t.operator, "config", "crd", "bases", "*.yaml"))
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			files[filepath.Base(file)] = cmp.Or(files[filepath.Base(file)], file)
		}
	}
	return slices.Sorted(maps.Values(files)), nil
}
