package controller

import (
	"errors"
	"fmt"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// errInvalidSpec is what checkSpec returns for a spec outside the API's limits.
var errInvalidSpec = errors.New("the spec is invalid")

// setDefaults sets the fields that the spec leaves out. The API server does so by the schema, unless the cluster has another
// version of the CustomResourceDefinition.
func setDefaults(spec *cachev1alpha1.MemcachedSpec) {
	if spec.Size == nil {
		spec.Size = new(cachev1alpha1.DefaultSize)
	}
	if spec.ContainerPort == nil {
		spec.ContainerPort = new(cachev1alpha1.DefaultContainerPort)
	}
}

// checkSpec returns what is wrong with a spec that has its defaults, or nil. The API server refuses such a spec, unless the
// cluster has another version of the CustomResourceDefinition.
func checkSpec(spec cachev1alpha1.MemcachedSpec) error {
	for _, field := range []struct {
		name            string
		value, min, max int32
	}{
		{"size", *spec.Size, cachev1alpha1.MinSize, cachev1alpha1.MaxSize},
		{"containerPort", *spec.ContainerPort, cachev1alpha1.MinContainerPort, cachev1alpha1.MaxContainerPort},
	} {
		if field.value < field.min || field.value > field.max {
			return fmt.Errorf("%w: spec.%s is %d: give a number from %d to %d",
				errInvalidSpec, field.name, field.value, field.min, field.max)
		}
	}
	return nil
}
