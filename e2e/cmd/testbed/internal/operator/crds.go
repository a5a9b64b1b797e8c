package operator

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/runner"
)

// Define installs the program's CustomResourceDefinitions and returns when the
// API server serves all of them.
func Define(ctx context.Context, config *rest.Config, program Program) error {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("register the API types: %w", err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	definitions := program.Manifests.Select("CustomResourceDefinition")
	if err := runner.Apply(ctx, c, definitions); err != nil {
		return err
	}
	for _, definition := range definitions {
		if err := awaitEstablished(ctx, c, definition.GetName()); err != nil {
			return fmt.Errorf("wait until the API server serves %s: %w", definition.GetName(), err)
		}
	}
	return nil
}

func awaitEstablished(ctx context.Context, c client.WithWatch, name string) error {
	// Without a resource version, a watch begins with what there is.
	events, err := c.Watch(ctx, &apiextensionsv1.CustomResourceDefinitionList{},
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", name)})
	if err != nil {
		return err
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case event, open := <-events.ResultChan():
			if !open {
				return fmt.Errorf("the watch ended")
			}
			definition, ok := event.Object.(*apiextensionsv1.CustomResourceDefinition)
			if ok && event.Type != watch.Deleted && isEstablished(definition) {
				return nil
			}
		}
	}
}

func isEstablished(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(definition.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}
