package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

// CheckCRDs returns why [WithCRDs] can't use these files and directories.
func CheckCRDs(paths ...string) error {
	_, err := readCRDs(paths)
	return err
}

// readCRDs reads the CustomResourceDefinitions in YAML files and in the YAML files of directories, but not of directories in them.
// It skips other objects.
func readCRDs(paths []string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, path := range paths {
		files := []string{path}
		info, err := os.Stat(path)
		if err == nil && info.IsDir() {
			files, err = filepath.Glob(filepath.Join(path, "*.y*ml"))
		}
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

func readCRDFile(crds []*apiextensionsv1.CustomResourceDefinition, path string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for documents := yaml.NewYAMLToJSONDecoder(bytes.NewReader(data)); ; {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		err := documents.Decode(crd)
		switch {
		case errors.Is(err, io.EOF):
			return crds, nil
		case err != nil:
			return nil, err
		case crd.Kind == "CustomResourceDefinition":
			crds = append(crds, crd)
		}
	}
}

// installCRDs creates the CRDs, all at once, and waits until they are Established.
func installCRDs(ctx context.Context, c client.WithWatch, crds []*apiextensionsv1.CustomResourceDefinition) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, crd := range crds {
		group.Go(func() error {
			err := c.Create(ctx, crd.DeepCopy())
			if err == nil {
				_, err = watch.Established(ctx, c, crd.Name)
			}
			if err != nil {
				return fmt.Errorf("install the CRD %s: %w", crd.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}
