package download

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
)

// Unpack writes one member of a gzipped tar archive to a path, where there is none yet.
func Unpack(archive, member, to string) (err error) {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(archive), err)
	}
	for reader := tar.NewReader(unzipped); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("there is no %s in %s", member, filepath.Base(archive))
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", filepath.Base(archive), err)
		}
		if path.Clean(header.Name) == member && header.Typeflag == tar.TypeReg {
			if err := write(to, reader); err != nil {
				return errors.Join(fmt.Errorf("read %s: %w", filepath.Base(archive), err), os.Remove(to))
			}
			return nil
		}
	}
}

func write(to string, content io.Reader) error {
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
