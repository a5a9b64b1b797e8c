package eject

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	modversion "golang.org/x/mod/module"
)

// goPackage is what go list says of a package.
type goPackage struct {
	Module *struct {
		Path, Version string
		Main          bool
	}
	Imports, TestImports, XTestImports []string
	ImportPath                         string
}

// writeModule writes the copy's go.mod and go.sum: of the repository's requirements those that the copy's packages and their
// tests need, with the same versions, so that nothing has to be looked up.
func (o Options) writeModule(ctx context.Context) error {
	text, err := os.ReadFile(filepath.Join(o.Root, "go.mod"))
	if err != nil {
		return err
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return err
	}
	// At first with all of them, for the Go command to say which are needed.
	if err := file.AddModuleStmt(o.Module); err != nil {
		return err
	}
	if err := o.write(file); err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(o.Root, "go.sum"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.To, "go.sum"), sums, 0o644); err != nil {
		return err
	}
	needed, err := o.needed(ctx)
	if err != nil {
		return err
	}
	file.SetRequireSeparateIndirect(needed)
	file.Cleanup()
	return o.write(file)
}

func (o Options) write(file *modfile.File) error {
	text, err := file.Format()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.To, "go.mod"), text, 0o644)
}

// needed returns the modules of the packages that the copy is made of, and whether the copy itself imports them.
func (o Options) needed(ctx context.Context) ([]*modfile.Require, error) {
	list := exec.CommandContext(ctx, "go", "list", "-mod=readonly", "-deps", "-test", "-json=Module,Imports,TestImports,XTestImports,ImportPath", "./...")
	list.Dir = o.To
	list.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("finding out what %s needs: %w\n%s", o.Directory, err, bytes.TrimSpace(stderr.Bytes()))
	}
	var packages []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	direct := map[string]bool{}
	for _, p := range packages {
		if p.Module != nil && p.Module.Main {
			for _, imported := range append(append(p.Imports, p.TestImports...), p.XTestImports...) {
				direct[imported] = true
			}
		}
	}
	requires := map[string]*modfile.Require{}
	for _, p := range packages {
		if p.Module == nil || p.Module.Main {
			continue
		}
		require := requires[p.Module.Path]
		if require == nil {
			require = &modfile.Require{Mod: modversion.Version{Path: p.Module.Path, Version: p.Module.Version}, Indirect: true}
			requires[p.Module.Path] = require
		}
		name, _, _ := strings.Cut(p.ImportPath, " ") // "package [package.test]"
		require.Indirect = require.Indirect && !direct[name]
	}
	var needed []*modfile.Require
	for _, require := range requires {
		needed = append(needed, require)
	}
	return needed, nil
}
