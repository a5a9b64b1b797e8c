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

// read writes the files of a bundle that are for this machine into a folder and returns its label. It reads all of the bundle,
// even what is for others, because gzip's checksum comes last.
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
		return label{}, fmt.Errorf("it is not a bundle: %w", err)
	}
	entries := tar.NewReader(compressed)
	header, err := entries.Next()
	if err != nil {
		return label{}, damaged(err)
	}
	if header.Name != labelName {
		return label{}, fmt.Errorf("it is not a bundle: it starts with %s", header.Name)
	}
	var contents label
	if err := json.NewDecoder(entries).Decode(&contents); err != nil {
		return label{}, damaged(err)
	}
	if err := contents.fits(here, version); err != nil {
		return label{}, err
	}
	for {
		if ctx.Err() != nil {
			return label{}, ctx.Err()
		}
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && !contents.isForOthers(header.Name) {
			err = extract(root, header, entries)
		}
		if err != nil {
			return label{}, damaged(err)
		}
	}
	// The checksum is behind the archive, and gzip compares it when all is read.
	if _, err := io.Copy(io.Discard, compressed); err != nil {
		return label{}, damaged(err)
	}
	return contents, nil
}

// extract writes an entry below root.
func extract(root *os.Root, header *tar.Header, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(header.Name), 0o755); err != nil {
		return err
	}
	out, err := root.OpenFile(header.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, header.FileInfo().Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	return errors.Join(err, out.Close(), root.Chtimes(header.Name, header.ModTime, header.ModTime))
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
