package recipe

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Manifest is what `go mod edit -json` prints of a go.mod.
type Manifest struct {
	Module  struct{ Path string }
	Require []ModuleVersion
	Replace []struct{ Old, New ModuleVersion }
	Tool    []struct{ Path string }
}

// ModuleVersion is a module at a version.
type ModuleVersion struct{ Path, Version string }

// ParseManifest reads what `go mod edit -json` prints.
func ParseManifest(output []byte) (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(output, &m); err != nil {
		return Manifest{}, fmt.Errorf("reading the output of go mod edit: %w", err)
	}
	return m, nil
}

// Tools are the packages of the programs with these names, all of them for no
// names.
func (m Manifest) Tools(names []string) ([]string, error) {
	packages := map[string]string{}
	for _, tool := range m.Tool {
		packages[programName(tool.Path)] = tool.Path
	}
	if len(names) == 0 {
		return slices.Sorted(maps.Values(packages)), nil
	}
	var wanted []string
	for _, name := range names {
		path, ok := packages[name]
		if !ok {
			return nil, fmt.Errorf("no tool line of %s names a program called %s", m.Module.Path, name)
		}
		wanted = append(wanted, path)
	}
	return wanted, nil
}

// HasOwnTools says whether a tool line names a program of the module itself.
func (m Manifest) HasOwnTools() bool {
	return slices.ContainsFunc(m.Tool, func(tool struct{ Path string }) bool {
		return strings.HasPrefix(tool.Path, m.Module.Path+"/")
	})
}

// NotDownloaded is how many of the required modules are not in the module cache:
// about as many as the next `go list` downloads.
func (m Manifest) NotDownloaded(moduleCache string) int {
	missing := 0
	for _, required := range m.Require {
		for _, r := range m.Replace {
			if r.Old.Path == required.Path && (r.Old.Version == "" || r.Old.Version == required.Version) {
				required = r.New
			}
		}
		if required.Version == "" {
			continue // a folder
		}
		archive := filepath.Join(moduleCache, "cache", "download", escape(required.Path), "@v", escape(required.Version)+".zip")
		if _, err := os.Stat(archive); err != nil {
			missing++
		}
	}
	return missing
}

// escape spells a module path or version as the module cache's file names do:
// file systems may not tell capitals apart, so !x stands for X.
func escape(path string) string {
	var b strings.Builder
	for _, r := range path {
		if unicode.IsUpper(r) {
			b.WriteRune('!')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}
