package recipe

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Settings are the parts of the go command's environment that change what it
// builds.
var Settings = []string{"GOVERSION", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GOFIPS140", "CGO_ENABLED"}

// Inputs are the facts that the bytes of the programs of the module in a directory
// depend on: the go command's settings, the flags, the names and stamps, go.mod and
// go.sum, and the module's own Go files if a tool line names a program of its own.
func (m GoMod) Inputs(dir string, settings map[string]string, extra Extra) ([]string, error) {
	own := slices.ContainsFunc(m.Tool, func(tool struct{ Path string }) bool {
		return strings.HasPrefix(tool.Path, m.Module.Path+"/")
	})
	inputs, err := Sources(dir, own)
	for _, name := range Settings {
		inputs = append(inputs, name+"="+settings[name])
	}
	inputs = append(inputs, fmt.Sprintf("go build %s -ldflags=%q", extra.Flags(), linkFlags), fmt.Sprintf("names %q", names))
	for _, s := range slices.Concat(stamps, extra.Stamps) {
		inputs = append(inputs, fmt.Sprintf("stamp %q", s))
	}
	return inputs, err
}

// Key is the short name of inputs: 80 bits of their digest.
func Key(inputs []string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", inputs))
	return hex.EncodeToString(sum[:])[:20]
}

// Sources are the names and digests of a module's go.mod and go.sum, and, if own is
// set, of its Go files, without its tests and the modules nested in it.
func Sources(dir string, own bool) ([]string, error) {
	var sources []string
	module := os.DirFS(dir)
	err := fs.WalkDir(module, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if _, err := fs.Stat(module, path.Join(file, "go.mod")); err == nil && file != "." {
				return fs.SkipDir
			}
			return nil
		}
		isOwn := own && strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go")
		if !isOwn && file != "go.mod" && file != "go.sum" {
			return nil
		}
		data, err := fs.ReadFile(module, file)
		sources = append(sources, fmt.Sprintf("%s %x", file, sha256.Sum256(data)))
		return err
	})
	return sources, err
}
