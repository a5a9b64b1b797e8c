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
	"github.com/example/operator-testbed/e2e/framework/manifest"
)

// What is created on each cluster.
const (
	namespace = "bench"
	size      = 3
	grown     = 5 // the size after a change
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
	// Foreign is how many foreign Deployments are created where the number of objects is the smallest one.
	Foreign int
	// Quiet is how long nothing is done to see whether a subject writes nevertheless.
	Quiet time.Duration
	// PodsReadyAfter is how long each pod takes until it is ready.
	PodsReadyAfter time.Duration
	// Late are the numbers of objects that are also measured with pods that take lateAfter until they are ready.
	Late []int
	// Progress gets a line for each step.
	Progress io.Writer
}

// lateAfter is how long a pod takes until it is ready, in separate measurements: as long as it may take to pull an image.
const lateAfter = 5 * time.Second

// Subject is an operator that is measured. Its custom resource is Memcached of cache.example.com/v1alpha1, with spec.size and
// spec.containerPort.
type Subject struct {
	// Name is what the report calls it.
	Name string
	// Binary is its executable.
	Binary string
	// Manifests install it.
	Manifests manifest.Set
	// Args and Env ("NAME=value") come behind those of the manifests.
	Args []string
	Env  []string
}

// floor is the name of the subject that is not an operator: see measureFloor.
const floor = "floor"

// Measure measures the floor and all subjects, and leaves nothing running.
func Measure(ctx context.Context, o Options) ([]Result, error) {
	if len(o.Subjects) == 0 || len(o.Objects) == 0 {
		return nil, errors.New("measure operators: name at least one and a number of objects")
	}
	results, err := o.measureAll(ctx)
	if err != nil || len(o.Late) == 0 {
		return results, err
	}
	o.Objects, o.PodsReadyAfter, o.Quiet, o.Repairs, o.Foreign = o.Late, lateAfter, 0, 0, 0
	late, err := o.measureAll(ctx)
	return append(results, late...), err
}

// measureAll measures the floor and all subjects with each number of objects.
func (o Options) measureAll(ctx context.Context) ([]Result, error) {
	var results []Result
	for _, n := range o.Objects {
		for _, subject := range slices.Insert(slices.Clone(o.Subjects), 0, Subject{Name: floor, Manifests: o.Subjects[0].Manifests}) {
			result, err := o.measure(ctx, subject, n)
			if err != nil {
				return nil, fmt.Errorf("measure %s with %d objects: %w", subject.Name, n, err)
			}
			results = append(results, result)
		}
	}
	return results, nil
}

// measure measures a subject with n objects, on a cluster of its own that serves its Memcacheds.
func (o Options) measure(ctx context.Context, subject Subject, n int) (result Result, err error) {
	fmt.Fprintf(o.Progress, "%s, %d objects\n", subject.Name, n)
	cluster, err := newCluster(ctx, subject.Manifests, n)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, cluster.Destroy(context.WithoutCancel(ctx))) }()
	f, err := newFixture(ctx, cluster, o, n)
	if err != nil {
		return Result{}, err
	}
	if subject.Name == floor {
		return f.measureFloor(ctx)
	}
	return f.measureOperator(ctx, subject)
}

// objectsPerNode is how many Memcacheds a simulated node has room for, with the requests of their pods, and with one pod more for each
// during a rollout. Where pods wait for room, a rollout takes many times as long.
const objectsPerNode = 250

// newCluster creates a cluster that serves the Memcacheds of the manifests, with room for the pods of n.
func newCluster(ctx context.Context, m manifest.Set, n int) (*embedded.Provider, error) {
	definitions, err := os.MkdirTemp("", "bench-operators-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(definitions)
	if err := m.WriteCRDs(definitions); err != nil {
		return nil, err
	}
	cluster := embedded.NewProvider()
	cluster.WithName("bench").WithOpts(embedded.WithCRDs(definitions), embedded.WithNodes(max(2, n/objectsPerNode)))
	if _, err := cluster.Create(ctx); err != nil {
		return nil, err
	}
	return cluster, nil
}
