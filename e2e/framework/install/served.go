package install

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// replaceSpec gives a CustomResourceDefinition that is there another spec, whole: applying it would leave fields that it lacks, and
// that belong to somebody else.
func replaceSpec(ctx context.Context, c client.Client, present client.Object, spec any, how ...client.PatchOption) error {
	patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec", "value": spec}})
	if err == nil {
		err = c.Patch(ctx, present, client.RawPatch(types.JSONPatchType, patch), append(how, fieldOwner)...)
	}
	if err != nil {
		return fmt.Errorf("updating %s %s: %w", manifest.CRD, present.GetName(), err)
	}
	return nil
}

// replaceServed gives a CustomResourceDefinition that is there the spec of another one, and waits until the API server goes by it.
// Until some milliseconds after the write it answers by the old spec, and no field says which. But a version that is deprecated shows
// in a warning with every answer, which changes together with the schema: so the new spec comes with a warning of its own first, and
// without it when that has been seen.
func replaceServed(ctx context.Context, config *rest.Config, c client.Client, present *apiextensionsv1.CustomResourceDefinition, wanted *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeoutCause(ctx, replaceTimeout, fmt.Errorf("it took longer than %v", replaceTimeout))
	defer cancel()
	spec, before := wanted.Object["spec"], present.Generation
	if err := replaceSpec(ctx, c, present, spec, client.DryRunAll); err != nil || present.Generation == before {
		return err
	}
	quiet := rest.CopyConfig(config)
	quiet.WarningHandler = rest.NoWarnings{}
	resources, err := discovery.NewDiscoveryClientForConfig(quiet)
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	warning := rand.Text()
	marked, path, err := deprecate(wanted, warning)
	if err != nil {
		return err
	}
	for _, warns := range []bool{true, false} {
		next := spec
		if warns {
			next = marked
		}
		if err := replaceSpec(ctx, c, present, next); err != nil {
			return err
		}
		if err := untilWarning(ctx, resources.RESTClient(), path, warning, warns); err != nil {
			return err
		}
	}
	return nil
}

// deprecate returns the spec of a CustomResourceDefinition with a warning in a version that is served, and where to ask for an
// object of that version.
func deprecate(d *unstructured.Unstructured, warning string) (marked *apiextensionsv1.CustomResourceDefinitionSpec, path string, err error) {
	crd, err := typed(d)
	if err != nil {
		return nil, "", err
	}
	at := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Served })
	if at < 0 {
		return nil, "", fmt.Errorf("%s %s serves no version", manifest.CRD, d.GetName())
	}
	version := &crd.Spec.Versions[at]
	version.Deprecated, version.DeprecationWarning = true, &warning
	namespace := ""
	if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		namespace = "namespaces/default/"
	}
	return &crd.Spec, fmt.Sprintf("/apis/%s/%s/%s%s/none", crd.Spec.Group, version.Name, namespace, crd.Spec.Names.Plural), nil
}

// typed returns a CustomResourceDefinition as its Go type.
func typed(d *unstructured.Unstructured) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.Object, crd); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", manifest.CRD, d.GetName(), err)
	}
	return crd, nil
}

// untilWarning asks until the answers have the warning, or no longer have it.
func untilWarning(ctx context.Context, c rest.Interface, path, warning string, wanted bool) error {
	for range watch.Poll(ctx, askAgain) {
		answer := c.Get().AbsPath(path).Do(ctx)
		if err := answer.Error(); err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			return fmt.Errorf("GET %s: %w", path, err)
		}
		if ctx.Err() == nil && slices.ContainsFunc(answer.Warnings(), func(w net.WarningHeader) bool { return strings.Contains(w.Text, warning) }) == wanted {
			return nil
		}
	}
	return context.Cause(ctx)
}
