package install

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// CRDs applies the CustomResourceDefinitions of the manifests, and waits until the API server serves them: if it served another
// version of one before, until it uses the new one.
func CRDs(ctx context.Context, config *rest.Config, m manifest.Set) error {
	return crds(ctx, config, m, true)
}

// MissingCRDs is [CRDs] for those that the cluster lacks. One that is there already is left as it is.
func MissingCRDs(ctx context.Context, config *rest.Config, m manifest.Set) error {
	return crds(ctx, config, m, false)
}

// crds applies the CustomResourceDefinitions of the manifests, those that exist only to update them, and waits until the API server
// serves all of them.
func crds(ctx context.Context, config *rest.Config, m manifest.Set, update bool) error {
	c, err := watch.NewClient(config)
	if err != nil {
		return err
	}
	for _, d := range m.Select(manifest.CRD) {
		present := &apiextensionsv1.CustomResourceDefinition{}
		err := c.Get(ctx, client.ObjectKeyFromObject(d), present)
		missing := apierrors.IsNotFound(err)
		if !missing && !update && apihelpers.IsCRDConditionTrue(present, apiextensionsv1.Established) {
			continue
		}
		if err == nil && update {
			if err := forgetVersions(ctx, config, c, present, d); err != nil {
				return err
			}
			err = replaceServed(ctx, config, c, present, d)
		}
		if missing || err == nil && update {
			err = Apply(ctx, c, []*unstructured.Unstructured{d})
		}
		if err == nil {
			present, err = watch.Established(ctx, c, d.GetName())
		}
		if err == nil {
			err = untilDiscovered(ctx, config, present)
		}
		if err != nil {
			return fmt.Errorf("waiting until the API server serves %s: %w", d.GetName(), err)
		}
	}
	return nil
}

// untilDiscovered waits until discovery lists what is served, which is a moment later than it is Established: clients find there
// where objects of the kind are.
func untilDiscovered(ctx context.Context, config *rest.Config, d *apiextensionsv1.CustomResourceDefinition) error {
	c, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	for _, version := range d.Spec.Versions {
		if !version.Served {
			continue
		}
		for range watch.Poll(ctx, askAgain) {
			_, err = c.RESTMapper().RESTMapping(schema.GroupKind{Group: d.Spec.Group, Kind: d.Spec.Names.Kind}, version.Name)
			if !meta.IsNoMatchError(err) {
				break
			}
		}
		if err != nil {
			return errors.Join(context.Cause(ctx), err)
		}
	}
	return nil
}
