package inventory

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// Refuse returns an error if a suite that installs the manifests would disturb others on the cluster, which kubectl knows as a context of
// that name: if there are objects of the kinds that the manifests define, an operator that serves them, another
// CustomResourceDefinition of the same name, or anything else of the manifests except for namespaces. It writes nothing.
func Refuse(ctx context.Context, config *rest.Config, contextName string, m manifest.Set) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("refusing to test on context %s: "+format, append([]any{contextName}, args...)...)
	}
	resources, err := Resources(ctx, config, m)
	if err != nil {
		return err
	}
	for _, r := range resources {
		if len(r.Objects) > 0 {
			return refuse("it has %s; use a cluster without any", r)
		}
	}
	operators, err := Operators(ctx, config, m)
	if err != nil {
		return err
	}
	if len(operators) > 0 {
		return refuse("an operator serves %s there (%s%s); use a cluster without one", Kinds(m), operators[0], more(len(operators)-1))
	}
	for _, d := range m.Select(definition) {
		if another, err := differs(ctx, config, d); err != nil {
			return err
		} else if another {
			return refuse("its CustomResourceDefinition %s is not the one under test; remove it with make uninstall CLUSTER=existing, or use another cluster", d.GetName())
		}
	}
	left, err := present(ctx, config, m)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return refuse("the suite would change %s%s there; remove what an operator has left with make undeploy CLUSTER=existing, or use another cluster",
			name(left[0]), more(len(left)-1))
	}
	return nil
}

// more says how many more there are, if any.
func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// Kinds returns the plurals of the kinds that the manifests define.
func Kinds(m manifest.Set) string {
	var plurals []string
	for _, d := range m.Select(definition) {
		kind, _, _ := unstructured.NestedString(d.Object, "spec", "names", "kind")
		plurals = append(plurals, kind+"s")
	}
	return strings.Join(plurals, ", ")
}

func name(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return o.GetKind() + " " + o.GetName()
	}
	return o.GetKind() + " " + client.ObjectKeyFromObject(o).String()
}

// present returns those objects of the manifests that are on the cluster, except for what may be shared: namespaces and
// CustomResourceDefinitions.
func present(ctx context.Context, config *rest.Config, m manifest.Set) ([]*unstructured.Unstructured, error) {
	own := manifest.New(m.Without("Namespace", definition)...)
	absent, err := install.Absent(ctx, config, own)
	if err != nil {
		return nil, err
	}
	missing := map[*unstructured.Unstructured]bool{}
	for _, object := range absent {
		missing[object] = true
	}
	var found []*unstructured.Unstructured
	for _, object := range own.Without("Deployment") {
		if !missing[object] {
			found = append(found, object)
		}
	}
	return found, nil
}

// differs reports whether the cluster has a CustomResourceDefinition of that name with another spec. The API server says so: it fills in
// defaults, and a new spec is a new generation. Nothing is written.
func differs(ctx context.Context, config *rest.Config, wanted *unstructured.Unstructured) (bool, error) {
	c, err := watch.NewClient(config)
	if err != nil {
		return false, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(wanted), crd); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec", "value": wanted.Object["spec"]}})
	if err != nil {
		return false, err
	}
	before := crd.Generation
	err = c.Patch(ctx, crd, client.RawPatch(types.JSONPatchType, patch), client.DryRunAll)
	if apierrors.IsInvalid(err) { // from that spec, there is no way to this one
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("compare %s %s with the one on the cluster: %w", definition, wanted.GetName(), err)
	}
	return crd.Generation != before, nil
}
