package main

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
)

// TestModulesAreListed describes this test's own executable.
func TestModulesAreListed(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var printed, again bytes.Buffer
	for _, out := range []*bytes.Buffer{&printed, &again} {
		if err := run([]string{path}, out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(printed.Bytes(), again.Bytes()) {
		t.Error("the same executable has two documents")
	}
	document, err := spdxjson.Read(&printed)
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range document.Packages {
		got = append(got, p.PackageName+" "+p.PackageVersion)
	}
	want := []string{info.Main.Path + " " + info.Main.Version, "std " + strings.TrimPrefix(info.GoVersion, "go")}
	for _, module := range info.Deps {
		want = append(want, module.Path+" "+module.Version)
	}
	if !slices.Equal(got, want) || len(info.Deps) == 0 {
		t.Errorf("the packages are\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(document.Relationships) != len(document.Packages) {
		t.Errorf("%d relationships for %d packages: each is described or depended on", len(document.Relationships), len(document.Packages))
	}
}

func TestWhatAScannerReads(t *testing.T) {
	document := documentOf("manager", "0123", &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "example.com/operator", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.com/a_b", Version: "v1.2.3+incompatible", Sum: "h1:x="},
			{Path: "example.com/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/new", Version: "v2.0.0"}},
		},
	})
	var urls, identifiers []string
	for _, p := range document.Packages {
		urls = append(urls, p.PackageExternalReferences[0].Locator)
		identifiers = append(identifiers, string(p.PackageSPDXIdentifier))
	}
	if want := []string{"pkg:golang/example.com/operator", "pkg:golang/std@1.26.8", "pkg:golang/example.com/a_b@v1.2.3%2Bincompatible", "pkg:golang/example.com/new@v2.0.0"}; !slices.Equal(urls, want) {
		t.Errorf("the package URLs are %q, expected %q", urls, want)
	}
	for _, id := range identifiers {
		if illegal.MatchString(id) {
			t.Errorf("%q is not a legal identifier", id)
		}
	}
	if sum := document.Packages[0].PackageChecksums[0]; sum.Algorithm != common.SHA256 || sum.Value != "0123" {
		t.Errorf("the executable's checksum is %+v", sum)
	}
	if info := document.Packages[2].PackageSourceInfo; !strings.Contains(info, "h1:x=") {
		t.Errorf("the module's checksum is missing: %q", info)
	}
}

func TestRefused(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{"usage": nil, "no such file": {"nowhere"}, "unrecognized file format": {text}} {
		if err := run(args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("sbom %q: %v, expected %q", args, err, want)
		}
	}
}
