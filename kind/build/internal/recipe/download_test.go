package recipe

import (
	"os"
	"path/filepath"
	"testing"
)

func TestNotDownloaded(t *testing.T) {
	manifest, err := ParseManifest([]byte(`{
		"Require": [
			{"Path": "github.com/Azure/go-ansiterm", "Version": "v1.0.0"},
			{"Path": "k8s.io/api", "Version": "v0.0.0"},
			{"Path": "example.com/folder", "Version": "v0.0.0"},
			{"Path": "example.com/missing", "Version": "v1.0.0"},
			{"Path": "example.com/gone", "Version": "v1.0.0"}
		],
		"Replace": [
			{"Old": {"Path": "k8s.io/api"}, "New": {"Path": "k8s.io/api", "Version": "v0.37.0"}},
			{"Old": {"Path": "example.com/folder", "Version": "v0.0.0"}, "New": {"Path": "../folder"}},
			{"Old": {"Path": "example.com/missing", "Version": "v2.0.0"}, "New": {"Path": "../folder"}}
		]}`))
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	for _, archive := range []string{
		"github.com/!azure/go-ansiterm/@v/v1.0.0.zip",
		"k8s.io/api/@v/v0.37.0.zip",
		"example.com/gone/@v/v1.0.0.mod",
	} {
		path := filepath.Join(cache, "cache", "download", archive)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := manifest.NotDownloaded(cache); got != 2 {
		t.Errorf("%d modules are not downloaded, expected 2: missing and gone", got)
	}
}
