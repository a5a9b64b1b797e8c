// Command untar is the tar of an image in which nothing else is. Scorecard unpacks a bundle with it in each of its pods:
//
//	tar xvzf ARCHIVE -C DIRECTORY
package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 5 || os.Args[1] != "xvzf" || os.Args[3] != "-C" {
		fmt.Fprintf(os.Stderr, "got %q, expected xvzf ARCHIVE -C DIRECTORY\n", os.Args[1:])
		os.Exit(2)
	}
	if err := unpack(os.Args[2], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// unpack writes the files of an archive into a directory, which it does not leave.
func unpack(archive, directory string) (err error) {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	compressed, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		return err
	}
	defer root.Close()
	for entries := tar.NewReader(compressed); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		fmt.Println(header.Name)
		name := filepath.Clean(header.Name)
		if header.FileInfo().IsDir() {
			err = root.MkdirAll(name, 0o755)
		} else if err = root.MkdirAll(filepath.Dir(name), 0o755); err == nil {
			err = write(root, name, entries)
		}
		if err != nil {
			return err
		}
	}
}

func write(root *os.Root, name string, content io.Reader) (err error) {
	file, err := root.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = io.Copy(file, content)
	return err
}
