package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// pack writes a bundle for the platforms to a file, or nothing.
func pack(ctx context.Context, path, platforms string, images []string) (err error) {
	named, err := platformsIn(platforms)
	if err != nil {
		return err
	}
	contents, err := labelOf(ctx, named...)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "bundle-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()

	var files []file
	for _, platform := range contents.Platforms {
		built, err := programs(ctx, platform)
		if err != nil {
			return err
		}
		files = append(files, built...)
	}
	fetched, err := modules(ctx, filepath.Join(work, "modules"))
	if err != nil {
		return err
	}
	pages, err := sites(builtSites...)
	if err != nil {
		return err
	}
	files = slices.Concat(files, fetched, pages)
	if contents.Images = images; len(images) > 0 {
		if contents.ImagesArch, err = output(ctx, nil, "docker", "version", "--format={{.Server.Arch}}"); err != nil {
			return err
		}
		saved := filepath.Join(work, imagesName)
		if _, err := output(ctx, nil, "docker", append([]string{"save", "--output=" + saved}, images...)...); err != nil {
			return err
		}
		files = append(files, file{name: imagesName, source: saved})
	}
	size, err := write(ctx, path, contents, files)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	say("%s holds %d files, %d MB, for %s and %s", path, len(files), size>>20, strings.Join(contents.Platforms, " "), contents.Go)
	return nil
}

// write writes a bundle of the files, with its checksum beside it, and returns its size.
func write(ctx context.Context, path string, contents label, files []file) (size int64, err error) {
	data, err := json.Marshal(contents)
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return 0, err
	}
	out, err := os.Create(path + ".unfinished")
	if err != nil {
		return 0, err
	}
	defer os.Remove(out.Name())
	sum := sha256.New()
	// Modules are compressed already, and programs that travel on a disk need not be small.
	compressed, err := gzip.NewWriterLevel(io.MultiWriter(out, sum), gzip.BestSpeed)
	if err != nil {
		return 0, err
	}
	w := tar.NewWriter(compressed)
	err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: labelName, Size: int64(len(data)), Mode: 0o644})
	if err == nil {
		_, err = w.Write(data)
	}
	for _, f := range files {
		if err = errors.Join(err, ctx.Err()); err == nil {
			err = writeFile(w, f)
		}
	}
	err = errors.Join(err, w.Close(), compressed.Close())
	size, _ = out.Seek(0, io.SeekCurrent) // a file knows its position
	if err := errors.Join(err, out.Close()); err != nil {
		return 0, err
	}
	if err := os.Rename(out.Name(), path); err != nil {
		return 0, err
	}
	checksum := fmt.Sprintf("%x  %s\n", sum.Sum(nil), filepath.Base(path))
	return size, os.WriteFile(path+".sha256", []byte(checksum), 0o644)
}

func writeFile(w *tar.Writer, f file) error {
	in, err := os.Open(f.source)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	// With the time of its change, to the nanosecond, by which the cache recognizes a program that it has checked.
	header := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: info.Size(), Mode: int64(info.Mode().Perm() | 0o200), ModTime: info.ModTime(), Format: tar.FormatPAX}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(w, in)
	return err
}
