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
	"path/filepath"
	"strings"
)

// pack writes a bundle for the platforms to a file, or nothing.
func pack(ctx context.Context, path, platforms string, images []string) (err error) {
	asked, err := platformsOf(ctx, platforms)
	if err != nil {
		return err
	}
	contents, err := labelOf(ctx, asked...)
	if err != nil {
		return err
	}
	if contents.Images = images; len(images) > 0 {
		if contents.ImagesArch, err = output(ctx, nil, "docker", "version", "--format={{.Server.Arch}}"); err != nil {
			return err
		}
	}
	work, err := os.MkdirTemp("", "bundle-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()

	var cluster []file
	for _, platform := range contents.Platforms {
		built, err := programs(ctx, platform)
		if err != nil {
			return err
		}
		cluster = append(cluster, built...)
	}
	files, err := modules(ctx, filepath.Join(work, "modules"))
	if err != nil {
		return err
	}
	files = append(files, cluster...)
	if len(images) > 0 {
		saved := filepath.Join(work, imagesName)
		if _, err := output(ctx, nil, "docker", append([]string{"save", "--output=" + saved}, images...)...); err != nil {
			return err
		}
		files = append(files, file{name: imagesName, source: saved})
	}

	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	unfinished := path + ".unfinished"
	defer os.Remove(unfinished)
	if err := write(ctx, unfinished, contents, files); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(unfinished, path); err != nil {
		return err
	}
	sum, err := sumOfFile(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".sha256", []byte(sum+"  "+filepath.Base(path)+"\n"), 0o644); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	say("%s holds %d files, %d MB, for %s and %s", path, len(files), info.Size()>>20, strings.Join(contents.Platforms, " "), contents.Go)
	return nil
}

// write writes a bundle of the files.
func write(ctx context.Context, path string, contents label, files []file) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	// Modules are compressed already, and programs that travel on a disk need not be small.
	compressed, err := gzip.NewWriterLevel(out, gzip.BestSpeed)
	if err != nil {
		return err
	}
	w := tar.NewWriter(compressed)
	data, err := json.Marshal(contents)
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: labelName, Size: int64(len(data)), Mode: 0o644}); err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	for _, f := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := writeFile(w, f); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), compressed.Close())
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
	// With the time of its change, to the nanosecond: by it the cache knows a program that it has checked.
	header := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: info.Size(), Mode: int64(info.Mode().Perm() | 0o200), ModTime: info.ModTime(), Format: tar.FormatPAX}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(w, in)
	return err
}
