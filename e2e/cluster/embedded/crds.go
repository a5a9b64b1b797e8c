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
	"slices"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/yaml"
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
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	entries, err := os.ReadDir(path)
	for _, entry := range entries {
		if slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(entry.Name())) && entry.Type()&fs.ModeDir == 0 {
			files = append(files, filepath.Join(path, entry.Name()))
		}
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
func installCRDs(ctx context.Context, client apiextensions.CustomResourceDefinitionInterface, crds []*apiextensionsv1.CustomResourceDefinition) error {
	if len(crds) == 0 {
		return nil
	}
	var group errgroup.Group
	missing := map[string]bool{}
	for _, crd := range crds {
		missing[crd.Name] = true
		group.Go(func() error {
			if _, err := client.Create(ctx, crd, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("install the CRD %s: %w", crd.Name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	_, err := watchtools.UntilWithSync(ctx, crdWatch(client), &apiextensionsv1.CustomResourceDefinition{}, nil,
		func(event watch.Event) (bool, error) {
			crd := event.Object.(*apiextensionsv1.CustomResourceDefinition)
			if established(crd) {
				delete(missing, crd.Name)
			} else if conflict := nameConflict(crd); missing[crd.Name] && conflict != "" {
				return false, fmt.Errorf("%s: %s", crd.Name, conflict) // for as long as the other one is there
			}
			return len(missing) == 0, nil
		})
	if err != nil {
		return fmt.Errorf("wait until the CRDs are Established: %w", err)
	}
	return nil
}

func crdWatch(client apiextensions.CustomResourceDefinitionInterface) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, o)
		},
		WatchFuncWithContext: client.Watch,
	}
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// nameConflict says which of the CRD's names another one has already, if so.
func nameConflict(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}
