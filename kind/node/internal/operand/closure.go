package operand

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/example/operator-testbed/kind/node/internal/archive"
)

// system is what a root file system's tar file holds, by absolute path.
type system struct {
	files map[string][]byte
	links map[string]string
}

// read reads the programs and libraries of a root file system.
func read(file string) (system, error) {
	f, err := os.Open(file)
	if err != nil {
		return system{}, err
	}
	defer f.Close()
	s := system{files: map[string][]byte{}, links: map[string]string{}}
	for entries := tar.NewReader(f); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return system{}, fmt.Errorf("reading %s: %w", file, err)
		}
		name := path.Join("/", header.Name)
		switch header.Typeflag {
		case tar.TypeSymlink:
			s.links[name] = header.Linkname
		case tar.TypeReg:
			if !isBinary(name) {
				continue
			}
			if s.files[name], err = io.ReadAll(entries); err != nil {
				return system{}, fmt.Errorf("reading %s: %w", file, err)
			}
		}
	}
}

// isBinary is true for the paths where programs and libraries are.
func isBinary(name string) bool {
	return strings.HasPrefix(name, "/usr/bin/") || strings.HasPrefix(name, "/lib") || strings.HasPrefix(name, "/usr/lib")
}

// content follows links to a file's content.
func (s system) content(name string) ([]byte, bool) {
	for range 10 { // a ring of links must not hang us
		target, isLink := s.links[name]
		if !isLink {
			data, ok := s.files[name]
			return data, ok
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(name), target)
		}
		name = target
	}
	return nil, false
}

// library is the path of a library by its soname.
func (s system) library(soname string) (string, bool) {
	var found []string
	for _, names := range [][]string{slices.Collect(maps.Keys(s.files)), slices.Collect(maps.Keys(s.links))} {
		for _, name := range names {
			if path.Base(name) == soname && strings.Contains(name, "/lib") {
				found = append(found, name)
			}
		}
	}
	if len(found) == 0 {
		return "", false
	}
	return slices.Min(found), true
}

// closure is a program with its loader and every library that it needs, directly
// or not: all that a container must have to run it.
func (s system) closure(program string) ([]archive.File, error) {
	var files []archive.File
	seen := map[string]bool{}
	for queue := []string{program}; len(queue) > 0; {
		name := queue[0]
		queue = queue[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		data, ok := s.content(name)
		if !ok {
			return nil, fmt.Errorf("the packages of %s hold no %s", path.Base(program), name)
		}
		files = append(files, archive.File{Path: name, Content: data, Mode: 0o755})
		loader, sonames, err := needs(data)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		if loader != "" {
			queue = append(queue, loader)
		}
		for _, soname := range sonames {
			library, ok := s.library(soname)
			if !ok {
				return nil, fmt.Errorf("the packages of %s hold no library %s, which %s needs", path.Base(program), soname, name)
			}
			queue = append(queue, library)
		}
	}
	return files, nil
}

// needs are what the kernel and the loader look for when they run a file.
func needs(data []byte) (loader string, sonames []string, err error) {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			name, err := io.ReadAll(p.Open())
			if err != nil {
				return "", nil, err
			}
			loader = strings.TrimRight(string(name), "\x00")
		}
	}
	sonames, err = f.ImportedLibraries()
	return loader, sonames, err
}
