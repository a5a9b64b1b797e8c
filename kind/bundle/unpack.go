package main

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/example/operator-testbed/kind/home"
)

// unpack puts what a bundle holds where it belongs on this machine, after all of it was found to be whole.
func unpack(ctx context.Context, bundle string) (err error) {
	version, err := output(ctx, nil, "go", "env", "GOVERSION")
	if err != nil {
		return err
	}
	cache, err := home.Cache()
	if err != nil {
		return err
	}
	moduleCache, err := output(ctx, nil, "go", "env", "GOMODCACHE")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(cache, "unbundle-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()

	contents, err := read(ctx, bundle, work, version)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", bundle, err)
	}
	fetched, err := place(filepath.Join(work, modulesDir), filepath.Join(moduleCache, "cache", "download"))
	if err != nil {
		return err
	}
	built, err := place(filepath.Join(work, clusterOf(here)), filepath.Join(cache, clusterDir))
	if err != nil {
		return err
	}
	say("%d files of modules are in %s, and %d of the cluster's programs in %s; what was there already was left as it is", fetched, moduleCache, built, cache)
	if built > 0 {
		say("this machine need not compile Kubernetes, which takes 8 minutes on 2 cores")
	}
	if others := contents.others(here); len(others) > 0 {
		say("left in the bundle: the programs for %s", strings.Join(others, " "))
	}
	switch {
	case len(contents.Images) == 0:
		return nil
	case contents.isForOthers(imagesName):
		say("left in the bundle: images for %s: %s", contents.ImagesArch, strings.Join(contents.Images, " "))
		return nil
	}
	if _, err := output(ctx, nil, "docker", "load", "--quiet", "--input="+filepath.Join(work, imagesName)); err != nil {
		return fmt.Errorf("the images are left out: %w; start Docker and run this again", err)
	}
	say("Docker has %s", strings.Join(contents.Images, " "))
	return nil
}

// errDamaged is what becomes of a bundle on a bad disk, or of half a copy.
var errDamaged = errors.New("the bundle is not what was packed: copy it again, and compare its size")

// damaged tells what is wrong with the bundle from what is wrong with this machine's files, such as a full disk.
func damaged(err error) error {
	if errors.As(err, new(*fs.PathError)) || errors.As(err, new(*os.LinkError)) {
		return err
	}
	return fmt.Errorf("%w (%w)", errDamaged, err)
}

// read writes the files of a bundle that are for this machine into a folder and returns its label, once every file, also of those
// that are for others, is known to be what was packed.
func read(ctx context.Context, bundle, folder, version string) (label, error) {
	in, err := os.Open(bundle)
	if err != nil {
		return label{}, err
	}
	defer in.Close()
	// No name in the bundle leads out of the folder.
	root, err := os.OpenRoot(folder)
	if err != nil {
		return label{}, err
	}
	defer root.Close()
	compressed, err := gzip.NewReader(bufio.NewReaderSize(in, 1<<20))
	if err != nil {
		return label{}, fmt.Errorf("it is no bundle: %w", err)
	}
	var contents label
	sums := map[string]string{}
	for entries := tar.NewReader(compressed); ; {
		if ctx.Err() != nil {
			return label{}, ctx.Err()
		}
		header, err := entries.Next()
		if err != nil { // io.EOF included: the sums were to come
			return label{}, damaged(err)
		}
		switch {
		case header.Name == sumsName:
			listed, err := readSums(entries)
			if err != nil || !maps.Equal(listed, sums) {
				return label{}, errDamaged
			}
			return contents, nil
		case header.Name == labelName:
			data, err := io.ReadAll(entries)
			if err != nil || json.Unmarshal(data, &contents) != nil {
				return label{}, errDamaged
			}
			if err := contents.fits(here, version); err != nil {
				return label{}, err
			}
			sums[labelName] = sumOf(data)
		case contents.Format == 0:
			return label{}, fmt.Errorf("it is no bundle: it begins with %s", header.Name)
		case contents.isForOthers(header.Name):
			if sums[header.Name], err = skip(entries); err != nil {
				return label{}, damaged(err)
			}
		default:
			if sums[header.Name], err = extract(root, header, entries); err != nil {
				return label{}, damaged(err)
			}
		}
	}
}

// skip returns the checksum that writeFile gave an entry.
func skip(content io.Reader) (string, error) { return copySum(io.Discard, content) }

// extract writes an entry below root, and returns the checksum that writeFile gave it.
func extract(root *os.Root, header *tar.Header, content io.Reader) (string, error) {
	if err := root.MkdirAll(path.Dir(header.Name), 0o755); err != nil {
		return "", err
	}
	out, err := root.OpenFile(header.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, header.FileInfo().Mode().Perm())
	if err != nil {
		return "", err
	}
	sum, err := copySum(out, content)
	if err := errors.Join(err, out.Close()); err != nil {
		return "", err
	}
	return sum, root.Chtimes(header.Name, header.ModTime, header.ModTime)
}

// readSums reads what sha256sum calls checksum lines: SUM, two blanks, NAME.
func readSums(r io.Reader) (map[string]string, error) {
	sums := map[string]string{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		sum, name, found := strings.Cut(lines.Text(), "  ")
		if !found {
			return nil, errDamaged
		}
		sums[name] = sum
	}
	return sums, lines.Err()
}

// place moves the files below one folder into another, and counts those that were not there.
func place(from, to string) (placed int, err error) {
	err = filepath.WalkDir(from, func(source string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && source == from {
			return fs.SkipAll
		}
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(from, source)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if _, err := os.Lstat(target); err == nil {
			return nil
		}
		placed++
		return move(source, target)
	})
	return placed, err
}

// move moves a file, also to another file system, where it appears whole or not at all.
func move(source, target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if os.Rename(source, target) == nil {
		return nil
	}
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(target), ".unbundle-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Chmod(0o644), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), target)
}
