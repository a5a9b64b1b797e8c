package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/example/operator-testbed/e2e/host/home"
)

// unpack puts the files of a bundle where they belong on this machine, after it has found the bundle to be complete.
func unpack(ctx context.Context, bundle string) error {
	settings, err := output(ctx, nil, "go", "env", "GOVERSION", "GOMODCACHE")
	if err != nil {
		return err
	}
	version, moduleCache, _ := strings.Cut(settings, "\n")
	cache, err := home.Cache()
	if err != nil {
		return err
	}
	in, err := os.Open(bundle)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", bundle, err)
	}
	defer in.Close()
	entries, err := entriesOf(in)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", bundle, err)
	}
	contents, err := readLabel(entries)
	if err == nil {
		err = contents.fits(here, version)
	}
	if err != nil {
		return fmt.Errorf("unpack %s: %w", bundle, err)
	}
	fetched, built := target{directory: filepath.Join(moduleCache, "cache", "download")}, target{directory: filepath.Join(cache, clusterDir)}
	pages := target{directory: filepath.Join(cache, siteDir)}
	var left error
	for {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if name, ok := strings.CutPrefix(header.Name, modulesDir); ok {
			err = fetched.place(name, header, entries)
		} else if name, ok := strings.CutPrefix(header.Name, clusterOf(here)); ok {
			err = built.place(name, header, entries)
		} else if name, ok := strings.CutPrefix(header.Name, siteDir); ok {
			err = pages.place(name, header, entries)
		} else if header.Name == imagesName && !contents.isForOthers() {
			left = load(ctx, entries)
		}
		if err != nil {
			return fmt.Errorf("unpack %s: %w", header.Name, err)
		}
	}
	say("%d files of modules are in %s, and %d of the cluster's programs in %s; what was there already was left as it is", fetched.placed, moduleCache, built.placed, cache)
	if built.placed > 0 {
		say("this machine need not compile Kubernetes")
	}
	if pages.placed > 0 {
		say("make site need not compile Hugo")
	}
	if others := contents.others(here); len(others) > 0 {
		say("left in the bundle: the programs for %s", strings.Join(others, " "))
	}
	switch {
	case len(contents.Images) == 0 || left != nil:
	case contents.isForOthers():
		say("left in the bundle: images for %s: %s", contents.ImagesArch, strings.Join(contents.Images, " "))
	default:
		say("Docker has %s", strings.Join(contents.Images, " "))
	}
	return left
}

// entriesOf returns the entries of a bundle. It reads all of the bundle first, because gzip's checksum comes last.
func entriesOf(bundle io.ReadSeeker) (*tar.Reader, error) {
	compressed, err := gzip.NewReader(bundle)
	if err != nil {
		return nil, fmt.Errorf("it is not a bundle: %w", err)
	}
	if _, err := io.Copy(io.Discard, compressed); err != nil {
		return nil, fmt.Errorf("the bundle is not what was packed: copy it again, and compare its size (%w)", err)
	}
	_, err = bundle.Seek(0, io.SeekStart)
	return tar.NewReader(compressed), errors.Join(err, compressed.Reset(bundle))
}

// readLabel reads a bundle's first entry.
func readLabel(entries *tar.Reader) (label, error) {
	var contents label
	header, err := entries.Next()
	if err == nil && header.Name != labelName {
		err = fmt.Errorf("it starts with %s", header.Name)
	}
	if err == nil {
		err = json.NewDecoder(entries).Decode(&contents)
	}
	if err != nil {
		err = fmt.Errorf("it is not a bundle: %w", err)
	}
	return contents, err
}

// target is a directory that a bundle's files go to.
type target struct {
	directory string
	// placed counts the files that were not there.
	placed int
}

// place writes an entry to a file in the directory, unless the file is there. The file appears complete or not at all, and no
// name leads out of the directory.
func (t *target) place(name string, header *tar.Header, content io.Reader) error {
	if err := os.MkdirAll(t.directory, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(t.directory)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Lstat(name); err == nil {
		return nil
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	unfinished := fmt.Sprintf("%s.unfinished-%d", name, os.Getpid())
	out, err := root.OpenFile(unfinished, os.O_CREATE|os.O_EXCL|os.O_WRONLY, header.FileInfo().Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	if err := errors.Join(err, out.Close(), root.Chtimes(unfinished, header.ModTime, header.ModTime)); err != nil {
		return errors.Join(err, root.Remove(unfinished))
	}
	t.placed++
	return root.Rename(unfinished, name)
}

// load loads the images into Docker.
func load(ctx context.Context, images io.Reader) error {
	docker := exec.CommandContext(ctx, "docker", "load", "--quiet")
	docker.Stdin = images
	if out, err := docker.CombinedOutput(); err != nil {
		return fmt.Errorf("the images are left out: docker load: %w: %s; start Docker and run this again", err, reasonIn(string(out)))
	}
	return nil
}
