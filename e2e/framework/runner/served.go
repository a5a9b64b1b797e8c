package runner

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

// replaceTimeout bounds the wait until another version of a CustomResourceDefinition is served. It takes some milliseconds.
const replaceTimeout = time.Minute

// stale returns those of the CustomResourceDefinitions that are there with another spec.
func stale(ctx context.Context, c client.Client, definitions []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var changed []*unstructured.Unstructured
	for _, d := range definitions {
		present := &apiextensionsv1.CustomResourceDefinition{}
		err := c.Get(ctx, client.ObjectKeyFromObject(d), present)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("looking for %s %s: %w", definition, d.GetName(), err)
		}
		before := present.Generation
		if err := replaceSpec(ctx, c, present, d.Object["spec"], client.DryRunAll); err != nil {
			return nil, err
		}
		if present.Generation != before {
			changed = append(changed, d)
		}
	}
	return changed, nil
}

// replaceSpec gives a CustomResourceDefinition that is there another spec, whole: applying it would leave fields that it lacks, and
// that belong to somebody else.
func replaceSpec(ctx context.Context, c client.Client, present client.Object, spec any, how ...client.PatchOption) error {
	patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec", "value": spec}})
	if err == nil {
		err = c.Patch(ctx, present, client.RawPatch(types.JSONPatchType, patch), append(how, fieldOwner)...)
	}
	if err != nil {
		return fmt.Errorf("updating %s %s: %w", definition, present.GetName(), err)
	}
	return nil
}

// replaceServed updates CustomResourceDefinitions that are there with another spec, and returns when the API server goes by the
// new one. Until some milliseconds after the write it answers by the old one, and no field says which. But a version that is
// deprecated shows in a warning with every answer, which changes together with the schema: so the new spec comes with a
// warning of its own first, and without it when that has been seen.
func replaceServed(ctx context.Context, config *rest.Config, c client.Client, definitions []*unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeoutCause(ctx, replaceTimeout, fmt.Errorf("it took longer than %v", replaceTimeout))
	defer cancel()
	quiet := rest.CopyConfig(config)
	quiet.WarningHandler = rest.NoWarnings{}
	resources, err := discovery.NewDiscoveryClientForConfig(quiet)
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	for _, d := range definitions {
		warning := rand.Text()
		marked, path, err := deprecate(d, warning)
		if err != nil {
			return err
		}
		for _, step := range []struct {
			spec  any
			warns bool
		}{{marked, true}, {d.Object["spec"], false}} {
			if err := replaceSpec(ctx, c, d.DeepCopy(), step.spec); err != nil {
				return err
			}
			if err := untilWarning(ctx, resources.RESTClient(), path, warning, step.warns); err != nil {
				return fmt.Errorf("waiting until the API server serves %s as it is now: %w", d.GetName(), err)
			}
		}
	}
	return nil
}

// deprecate returns the spec of a CustomResourceDefinition with a warning in a version that is served, and where to ask for an
// object of that version.
func deprecate(d *unstructured.Unstructured, warning string) (marked *apiextensionsv1.CustomResourceDefinitionSpec, path string, err error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.Object, crd); err != nil {
		return nil, "", fmt.Errorf("reading %s %s: %w", definition, d.GetName(), err)
	}
	at := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Served })
	if at < 0 {
		return nil, "", fmt.Errorf("%s %s serves no version", definition, d.GetName())
	}
	version := &crd.Spec.Versions[at]
	version.Deprecated, version.DeprecationWarning = true, &warning
	namespace := ""
	if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		namespace = "namespaces/default/"
	}
	return &crd.Spec, fmt.Sprintf("/apis/%s/%s/%s%s/none", crd.Spec.Group, version.Name, namespace, crd.Spec.Names.Plural), nil
}

// untilWarning asks until the answers have the warning, or have it no more.
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
