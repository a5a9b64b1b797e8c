package embedded

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

// readCRDs reads the CustomResourceDefinitions in YAML files and in the YAML
// files of folders (not of folders in them). Other objects are passed over.
func readCRDs(paths []string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, path := range paths {
		files, err := yamlFiles(path)
		if err != nil {
			return nil, fmt.Errorf("read CRDs: %w", err)
		}
		count := len(crds)
		for _, file := range files {
			if crds, err = readCRDFile(crds, file); err != nil {
				return nil, fmt.Errorf("read CRDs from %s: %w", file, err)
			}
		}
		if len(crds) == count {
			return nil, fmt.Errorf("read CRDs: there is none in %s", path)
		}
	}
	return crds, nil
}

func yamlFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	files, err := fs.Glob(os.DirFS(path), "*.y*ml")
	for i := range files {
		files[i] = filepath.Join(path, files[i])
	}
	return files, err
}

func readCRDFile(crds []*apiextensionsv1.CustomResourceDefinition, path string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return crds, nil
		}
		if err != nil {
			return nil, err
		}
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(document, &kind); err != nil {
			return nil, err
		}
		if kind.Kind != "CustomResourceDefinition" {
			continue
		}
		if kind.APIVersion != apiextensionsv1.SchemeGroupVersion.String() {
			return nil, fmt.Errorf("a CustomResourceDefinition has the apiVersion %q: use %s", kind.APIVersion, apiextensionsv1.SchemeGroupVersion)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(document, crd); err != nil {
			return nil, err
		}
		crds = append(crds, crd)
	}
}

// installCRDs creates the CRDs, all at once, and returns when they are
// Established.
func installCRDs(ctx context.Context, c client.WithWatch, crds []*apiextensionsv1.CustomResourceDefinition) error {
	if len(crds) == 0 {
		return nil
	}
	var group errgroup.Group
	missing := map[string]bool{}
	for _, crd := range crds {
		missing[crd.Name] = true
		group.Go(func() error {
			if err := c.Create(ctx, crd.DeepCopy()); err != nil {
				return fmt.Errorf("install the CRD %s: %w", crd.Name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var taken error
	err := watch.Until(ctx, c, &apiextensionsv1.CustomResourceDefinitionList{}, func(objects []client.Object) bool {
		for _, object := range objects {
			crd := object.(*apiextensionsv1.CustomResourceDefinition)
			if apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
				delete(missing, crd.Name)
			} else if missing[crd.Name] && apihelpers.IsCRDConditionFalse(crd, apiextensionsv1.NamesAccepted) {
				// Another one has these names, and for as long as it is there.
				taken = fmt.Errorf("%s: %s", crd.Name, apihelpers.FindCRDCondition(crd, apiextensionsv1.NamesAccepted).Message)
			}
		}
		return len(missing) == 0 || taken != nil
	})
	if taken != nil {
		err = taken
	}
	if err != nil {
		return fmt.Errorf("wait until the CRDs are Established: %w", err)
	}
	return nil
}

func crdWatch(client apiextensions.ApiextensionsV1Interface) *cache.ListWatch {
	return cache.NewListWatchFromClient(client.RESTClient(), "customresourcedefinitions", metav1.NamespaceNone, fields.Everything())
}
