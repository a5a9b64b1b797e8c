package operators

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
)

// What is created, wherever it is.
const (
	namespace = "bench"
	size      = 3
	port      = 11211
)

// memcached is the kind that the subjects serve.
var memcached = schema.GroupVersionKind{Group: "cache.example.com", Version: "v1alpha1", Kind: "Memcached"}

// Options say what is measured.
type Options struct {
	// Subjects are measured one after the other. The floor's Memcacheds are those of the first one's CustomResourceDefinition.
	Subjects []Subject
	// Objects are the numbers of objects, each measured on clusters of its own.
	Objects []int
	// Repairs is how many Deployments are changed to see them repaired.
	Repairs int
	// Foreign is how many Deployments of others are created where the number of objects is the smallest one.
	Foreign int
	// Quiet is how long nothing is done to see whether a subject writes all the same.
	Quiet time.Duration
	// PodsReadyAfter is how long each pod takes until it is ready.
	PodsReadyAfter time.Duration
	// Progress gets a line for each step.
	Progress io.Writer
}

// floor is what the report calls it.
const floor = "floor"

// Measure measures everything, and leaves nothing running.
func Measure(ctx context.Context, o Options) ([]Result, error) {
	if len(o.Subjects) == 0 || len(o.Objects) == 0 {
		return nil, errors.New("measure operators: name at least one and a number of objects")
	}
	var results []Result
	add := func(name string, subject Subject, n int, work func(*world) (Result, error)) error {
		result, err := withWorld(ctx, o, subject, work)
		if err != nil {
			return fmt.Errorf("measure %s with %d objects: %w", name, n, err)
		}
		results = append(results, result)
		return nil
	}
	for _, n := range o.Objects {
		if err := add(floor, o.Subjects[0], n, func(w *world) (Result, error) { return w.measureFloor(ctx, n) }); err != nil {
			return nil, err
		}
		for _, subject := range o.Subjects {
			withForeign := n == slices.Min(o.Objects)
			if err := add(subject.Name, subject, n, func(w *world) (Result, error) { return w.measure(ctx, subject, n, withForeign) }); err != nil {
				return nil, err
			}
		}
	}
	return results, nil
}

// withWorld does some work on a cluster of its own that serves the subject's Memcacheds.
func withWorld(ctx context.Context, o Options, subject Subject, work func(*world) (Result, error)) (result Result, err error) {
	definitions, err := os.MkdirTemp("", "bench-operators-")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(definitions)
	if err := subject.Manifests.WriteDefinitions(definitions); err != nil {
		return Result{}, err
	}
	cluster := embedded.NewProvider()
	cluster.WithName("bench").WithOpts(embedded.WithCRDs(definitions))
	if _, err := cluster.Create(ctx); err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, cluster.Destroy(context.WithoutCancel(ctx))) }()
	w, err := newWorld(ctx, cluster, o)
	if err != nil {
		return Result{}, err
	}
	return work(w)
}
