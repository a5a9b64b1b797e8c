package controller

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

func TestDefaults(t *testing.T) {
	spec := cachev1alpha1.MemcachedSpec{}
	setDefaults(&spec)
	if *spec.Size != 1 || *spec.ContainerPort != 11211 {
		t.Errorf("size %d and port %d, want 1 and 11211", *spec.Size, *spec.ContainerPort)
	}
	spec = cachev1alpha1.MemcachedSpec{Size: new(int32(0)), ContainerPort: new(int32(2))}
	setDefaults(&spec)
	if *spec.Size != 0 || *spec.ContainerPort != 2 {
		t.Errorf("size %d and port %d, want them as they were", *spec.Size, *spec.ContainerPort)
	}
}

// The operator and the schema have the same limits.
func TestSchemaHasTheSameBounds(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "bases", "cache.example.com_memcacheds.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		t.Fatal(err)
	}
	fields := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	for name, want := range map[string][3]int32{
		"size":          {cachev1alpha1.MinSize, cachev1alpha1.MaxSize, cachev1alpha1.DefaultSize},
		"containerPort": {cachev1alpha1.MinContainerPort, cachev1alpha1.MaxContainerPort, cachev1alpha1.DefaultContainerPort},
	} {
		var byDefault int32
		if err := yaml.Unmarshal(fields[name].Default.Raw, &byDefault); err != nil {
			t.Fatal(err)
		}
		if got := [3]int32{int32(*fields[name].Minimum), int32(*fields[name].Maximum), byDefault}; got != want {
			t.Errorf("%s: minimum, maximum and default are %v in the schema, %v in the code", name, got, want)
		}
	}
}

func FuzzSpec(f *testing.F) {
	f.Add(int32(1), int32(11211), false, false)
	f.Add(int32(0), int32(0), true, true)
	f.Add(int32(6), int32(65536), false, true)
	f.Add(int32(-1), int32(-1), true, false)
	f.Fuzz(func(t *testing.T, size, port int32, noSize, noPort bool) {
		mc := testMemcached(size)
		mc.Spec.ContainerPort = &port
		if noSize {
			mc.Spec.Size, size = nil, 1
		}
		if noPort {
			mc.Spec.ContainerPort, port = nil, 11211
		}
		setDefaults(&mc.Spec)
		legal := size >= 1 && size <= 5 && port >= 1 && port <= 65535
		err := checkSpec(mc.Spec)
		if legal != (err == nil) || err != nil && (!errors.Is(err, errInvalidSpec) || !strings.Contains(err.Error(), "give a number from 1 to ")) {
			t.Errorf("size %d, port %d: %v", size, port, err)
		}
		// For any spec, there is a hash to compare the pods with.
		if hash := templateHash(desiredDeployment(mc, testImage)); hash == "" {
			t.Error("no template hash")
		}
	})
}
