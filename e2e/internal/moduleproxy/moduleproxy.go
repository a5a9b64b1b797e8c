// Package moduleproxy writes modules to a directory from which the Go command downloads them, with GOPROXY=file://DIRECTORY.
package moduleproxy

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// Add adds the module in a directory, without modules inside it, under a version. The Go command also finds it by the queries, such as
// the name of a commit.
func Add(proxy string, version module.Version, directory string, queries ...string) error {
	escaped, err := module.EscapePath(version.Path)
	if err != nil {
		return err
	}
	place := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(place, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{version.Version, time.Unix(0, 0).UTC()})
	if err != nil {
		return err
	}
	definition, err := os.ReadFile(filepath.Join(directory, "go.mod"))
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{version.Version + ".info": info, version.Version + ".mod": definition, "list": []byte(version.Version + "\n")} {
		if err := os.WriteFile(filepath.Join(place, name), content, 0o644); err != nil {
			return err
		}
	}
	for _, query := range queries {
		if err := os.WriteFile(filepath.Join(place, query+".info"), info, 0o644); err != nil {
			return err
		}
	}
	archive, err := os.Create(filepath.Join(place, version.Version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(zip.CreateFromDir(archive, version, directory), archive.Close())
}

// CopyFiles copies files to the same places below another directory. Those that do not exist are left out.
func CopyFiles(to, from string, files []string) error {
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(from, filepath.FromSlash(file)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		place := filepath.Join(to, filepath.FromSlash(file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(place), 0o755), os.WriteFile(place, content, 0o644)); err != nil {
			return err
		}
	}
	return nil
}
