// Package hugo makes the site of this repository's pages with Hugo, whose version, theme and settings are in docs/site. It makes a
// site once: the next time, or where a bundle has brought the same site, nothing is compiled and nothing runs.
package hugo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Source is the directory of Hugo's settings, templates and version, in the root of the repository.
const Source = "docs/site"

// Site is a site to make.
type Site struct {
	// Root is the root of the repository.
	Root string
	// Pages writes the pages, as Hugo reads them, into the directory content of a directory.
	Pages func(ctx context.Context, directory string) error
	// Base is the path below which the site is served, such as /operator-testbed/, or its whole address.
	Base string
	// Out is the directory of the site. What is in it is replaced.
	Out string
	// Unpacked has the sites that bundles have brought, each in a directory with the name of its key. It need not exist.
	Unpacked string
	// Progress is where is written what takes long.
	Progress io.Writer

	// source is Source, except in tests.
	source string
	// build makes the site of the pages in a directory in another one. It is Hugo, except in tests.
	build func(ctx context.Context, s Site, content, out string) error
}

// Origin says where a site has come from.
type Origin string

// Where a site can come from.
const (
	Unchanged Origin = "nothing has changed since it was made"
	Copied    Origin = "from a bundle"
	Made      Origin = "made by Hugo"
)

// Base returns what a site's links start with, from what a person gives: a path, or an address.
func Base(given string) (string, error) {
	address, err := url.Parse(cmp.Or(given, "/"))
	ok := err == nil && !strings.ContainsAny(given, " ?#")
	if ok && address.Host == "" {
		ok = address.Scheme == "" && strings.HasPrefix(address.Path, "/")
	} else if ok {
		ok = address.Scheme == "https" || address.Scheme == "http"
	}
	if !ok {
		return "", fmt.Errorf("BASE=%s is neither a path nor an address: give one such as /operator-testbed/", given)
	}
	return strings.TrimSuffix(given, "/") + "/", nil
}

// Make makes the site, unless it is there.
func (s Site) Make(ctx context.Context) (from Origin, err error) {
	// Beside the site, so that it can be renamed to it.
	if err := os.MkdirAll(filepath.Dir(s.Out), 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(s.Out), ".site-")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("stopped: %s is as it was", s.Out)
		}
		err = errors.Join(err, os.RemoveAll(work))
	}()
	if err := s.Pages(ctx, work); err != nil {
		return "", fmt.Errorf("write the pages: %w", err)
	}
	content := filepath.Join(work, "content")
	key, err := s.key(content)
	if err != nil {
		return "", err
	}
	if keyOf(s.Out) == key {
		return Unchanged, nil
	}
	finished := filepath.Join(work, "site")
	if unpacked := filepath.Join(s.Unpacked, key); s.Unpacked != "" && keyOf(unpacked) == key {
		from, err = Copied, os.CopyFS(finished, os.DirFS(unpacked))
	} else if from, err = Made, s.builder()(ctx, s, content, finished); err == nil {
		err = writeKey(finished, key)
	}
	if err != nil {
		return "", err
	}
	return from, replace(s.Out, finished, filepath.Join(work, "old"))
}

// directory returns the directory of the settings and templates.
func (s Site) directory() string { return cmp.Or(s.source, filepath.Join(s.Root, Source)) }

func (s Site) builder() func(ctx context.Context, s Site, content, out string) error {
	if s.build != nil {
		return s.build
	}
	return run
}

// replace puts a finished directory in the place of another one, which it moves away. Somebody else may do the same at the same time:
// then the last one stays.
func replace(directory, finished, old string) error {
	for try := 1; ; try++ {
		if err := os.Rename(directory, fmt.Sprintf("%s-%d", old, try)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		err := os.Rename(finished, directory)
		if err == nil || !errors.Is(err, fs.ErrExist) || try == 100 {
			return err
		}
	}
}
