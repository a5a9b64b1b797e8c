package runner

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
		if err := replaceSpec(ctx, c, present, d, client.DryRunAll); err != nil {
			return nil, err
		}
		if present.Generation != before {
			changed = append(changed, d)
		}
	}
	return changed, nil
}

// replaceSpec gives a CustomResourceDefinition that is there the spec of another one, whole: applying it would leave fields that
// it lacks, and that belong to somebody else.
func replaceSpec(ctx context.Context, c client.Client, present client.Object, d *unstructured.Unstructured, how ...client.PatchOption) error {
	patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec", "value": d.Object["spec"]}})
	if err == nil {
		err = c.Patch(ctx, present, client.RawPatch(types.JSONPatchType, patch), append(how, fieldOwner)...)
	}
	if err != nil {
		return fmt.Errorf("updating %s %s: %w", definition, d.GetName(), err)
	}
	return nil
}

// replaceServed updates CustomResourceDefinitions that are there with another spec, and returns when the API server goes by the
// new one. Until some milliseconds after the write it answers by the old one, and no field says which. But a version that is
// deprecated shows in a warning with every answer, which changes together with the schema: so the new spec comes with a
// warning of its own first, and without it when that has been seen.
func replaceServed(ctx context.Context, config *rest.Config, c client.Client, definitions []*unstructured.Unstructured) error {
	if len(definitions) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, replaceTimeout, fmt.Errorf("it took longer than %v", replaceTimeout))
	defer cancel()
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	defer http.CloseIdleConnections()
	for _, d := range definitions {
		token := rand.Text()
		marked, path, err := deprecate(d, token)
		if err != nil {
			return err
		}
		for _, step := range []struct {
			spec  *unstructured.Unstructured
			warns bool
		}{{marked, true}, {d, false}} {
			if err := replaceSpec(ctx, c, d.DeepCopy(), step.spec); err != nil {
				return err
			}
			if err := untilWarning(ctx, http, config.Host+path, token, step.warns); err != nil {
				return fmt.Errorf("waiting until the API server serves %s as it is now: %w", d.GetName(), err)
			}
		}
	}
	return nil
}

// deprecate returns the CustomResourceDefinition with a warning in a version that is served, and where to ask for an object of
// that version.
func deprecate(d *unstructured.Unstructured, warning string) (marked *unstructured.Unstructured, path string, err error) {
	marked = d.DeepCopy()
	versions, _, err := unstructured.NestedSlice(marked.Object, "spec", "versions")
	if err != nil {
		return nil, "", err
	}
	at := slices.IndexFunc(versions, func(v any) bool {
		version, ok := v.(map[string]any)
		return ok && version["served"] == true
	})
	if at < 0 {
		return nil, "", fmt.Errorf("%s %s serves no version", definition, d.GetName())
	}
	version := versions[at].(map[string]any)
	version["deprecated"], version["deprecationWarning"] = true, warning
	if err := unstructured.SetNestedSlice(marked.Object, versions, "spec", "versions"); err != nil {
		return nil, "", err
	}
	field := func(path ...string) string {
		text, _, _ := unstructured.NestedString(d.Object, path...)
		return text
	}
	path = fmt.Sprintf("/apis/%s/%s/", field("spec", "group"), version["name"])
	if field("spec", "scope") == string(apiextensionsv1.NamespaceScoped) {
		path += "namespaces/default/"
	}
	return marked, path + field("spec", "names", "plural") + "/none", nil
}

// untilWarning asks until the answers have the warning, or have it no more.
func untilWarning(ctx context.Context, c *http.Client, url, warning string, wanted bool) error {
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := c.Do(request)
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return err
		}
		response.Body.Close()
		if response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden {
			return fmt.Errorf("GET %s: %s", url, response.Status)
		}
		warned := slices.ContainsFunc(response.Header.Values("Warning"), func(w string) bool { return strings.Contains(w, warning) })
		if warned == wanted {
			return nil
		}
	}
}
