package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/manifest"
)

// forgetVersions prepares a CustomResourceDefinition that exists for one that lacks some of its versions. The API server refuses to
// remove a version in which objects may be stored, even if there are none. forgetVersions removes such versions from
// status.storedVersions if there are no objects, and otherwise returns an error that names some. It deletes nothing: with a
// CustomResourceDefinition would go an object that was created a moment ago.
func forgetVersions(ctx context.Context, config *rest.Config, c client.Client, present *apiextensionsv1.CustomResourceDefinition, wanted *unstructured.Unstructured) error {
	next, err := typed(wanted)
	if err != nil {
		return err
	}
	lacking := slices.DeleteFunc(slices.Clone(present.Status.StoredVersions), func(name string) bool { return at(next.Spec.Versions, name) >= 0 })
	if len(lacking) == 0 {
		return nil
	}
	if err := refuseObjects(ctx, config, present, lacking); err != nil {
		return err
	}
	before := present.Spec.DeepCopy()
	storage, err := storeAsWanted(ctx, config, c, present, next)
	// An object may have been created between the list and the change. One that is created from now on is stored in the other version.
	if err == nil {
		err = refuseObjects(ctx, config, present, lacking)
	}
	if err != nil {
		return errors.Join(err, replaceSpec(context.WithoutCancel(ctx), c, present, before))
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"storedVersions": []string{storage}}})
	if err == nil {
		err = c.Status().Patch(ctx, present, client.RawPatch(types.MergePatchType, patch), fieldOwner)
	}
	if err != nil {
		return fmt.Errorf("removing %s from status.storedVersions of %s %s: %w", strings.Join(lacking, ", "), manifest.CRD, present.GetName(), err)
	}
	return nil
}

// storeAsWanted makes the storage version of the next CustomResourceDefinition that of the present one, which keeps its other versions,
// and waits until the API server goes by it. It returns the storage version.
func storeAsWanted(ctx context.Context, config *rest.Config, c client.Client, present, next *apiextensionsv1.CustomResourceDefinition) (storage string, err error) {
	both := next.DeepCopy()
	for _, version := range present.Spec.Versions {
		if at(next.Spec.Versions, version.Name) < 0 {
			version.Storage = false
			both.Spec.Versions = append(both.Spec.Versions, version)
		}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(both)
	if err != nil {
		return "", fmt.Errorf("writing %s %s: %w", manifest.CRD, next.GetName(), err)
	}
	i := slices.IndexFunc(next.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	if i < 0 {
		return "", fmt.Errorf("%s %s has no storage version", manifest.CRD, next.GetName())
	}
	storage = next.Spec.Versions[i].Name
	if err := replaceServed(ctx, config, c, present, &unstructured.Unstructured{Object: content}); err != nil {
		return "", fmt.Errorf("making %s the storage version of %s %s: %w", storage, manifest.CRD, next.GetName(), err)
	}
	return storage, nil
}

// refuseObjects returns an error if a CustomResourceDefinition has objects. They may be stored in the versions.
func refuseObjects(ctx context.Context, config *rest.Config, crd *apiextensionsv1.CustomResourceDefinition, versions []string) error {
	objects, err := ObjectsOf(ctx, config, crd)
	if err == nil && len(objects) == 0 {
		return nil
	}
	why := fmt.Sprintf("%s %s can't be replaced by one without %s, in which objects may be stored", manifest.CRD, crd.GetName(), strings.Join(versions, ", "))
	if err != nil {
		return fmt.Errorf("%s; listing all %s failed, so there may be some: %w", why, crd.Spec.Names.Plural, err)
	}
	var names []string
	for _, object := range objects[:min(len(objects), 3)] {
		names = append(names, strings.TrimPrefix(client.ObjectKeyFromObject(&object).String(), "/"))
	}
	if more := len(objects) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Errorf("%s (%s %s): delete them, or use another cluster", why, crd.Spec.Names.Plural, strings.Join(names, ", "))
}

// ObjectsOf lists all objects of a CustomResourceDefinition on the cluster, in its storage version if that is served, because those
// that are stored in it need no conversion. It reads only their metadata, and asks for them by their path: discovery lists a
// new resource only after a while, and would hide objects that are there already.
func ObjectsOf(ctx context.Context, config *rest.Config, crd *apiextensionsv1.CustomResourceDefinition) ([]metav1.PartialObjectMetadata, error) {
	c, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	served := slices.DeleteFunc(slices.Clone(crd.Spec.Versions), func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return !v.Served })
	if len(served) == 0 {
		return nil, nil
	}
	version := served[max(0, slices.IndexFunc(served, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage }))]
	resource := schema.GroupVersionResource{Group: crd.Spec.Group, Version: version.Name, Resource: crd.Spec.Names.Plural}
	list, err := c.Resource(resource).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) && !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) { // so there can be no object
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// at returns the index of the version with a name, or -1.
func at(versions []apiextensionsv1.CustomResourceDefinitionVersion, name string) int {
	return slices.IndexFunc(versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name })
}
