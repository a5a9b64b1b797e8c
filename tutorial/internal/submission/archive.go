package submission

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// maxArchive is how many bytes are read of an archive, compressed or not: MaxBytes, and for each entry its headers and padding.
const maxArchive = MaxBytes + MaxFiles*4096

// Unpack makes dir, which must not exist, the submission in an archive of [Pack]. One that is made by hand may have everything in
// one directory.
func Unpack(root, archive, dir string) error {
	t, err := readArchive(archive)
	if err != nil {
		return err
	}
	return t.accept(root, dir)
}

func readArchive(archive string) (*tree, error) {
	// Where the copy is in it has to be known before bin/ can be left out.
	prefix, found := "", false
	err := eachIn(archive, func(e entry, _ io.Reader) error {
		if path.Base(e.name) == StageFile && strings.Count(e.name, "/") <= 1 && (prefix != "" || !found) {
			prefix, found = strings.TrimSuffix(e.name, StageFile), true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := newTree()
	return t, eachIn(archive, func(e entry, content io.Reader) error {
		if err := checkName(e.name); err != nil {
			return err
		}
		inside, ok := strings.CutPrefix(e.name, prefix)
		if !ok {
			return nil
		}
		e.name = inside
		return t.add(e, content)
	})
}

// eachIn calls do for each entry of an archive.
func eachIn(archive string, do func(e entry, content io.Reader) error) error {
	name := filepath.Base(archive)
	opened, err := os.OpenFile(archive, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) {
		return refuse(name, "is a symbolic link: hand in a file")
	}
	if errors.Is(err, fs.ErrPermission) {
		return unreadable(name, err)
	}
	if err != nil {
		return err
	}
	defer opened.Close()
	switch info, err := opened.Stat(); {
	case err != nil:
		return err
	case special(info.Mode().Type()) != "" || info.IsDir():
		return refuse(name, "is not a file: hand in what make submit has made")
	case info.Size() > maxArchive:
		return refuse(name, "is larger than %d MiB: hand in what make submit has made", maxArchive>>20)
	}
	packed, err := gzip.NewReader(opened)
	if err != nil {
		return refuse(name, "is not an archive that gzip has packed (%v): hand in what make submit has made", err)
	}
	// A little more than is accepted, so that its end can't be mistaken for that of a smaller archive.
	limited := &io.LimitedReader{R: packed, N: maxArchive + 1}
	reader := tar.NewReader(limited)
	for count := 0; ; count++ {
		header, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF) && limited.N > 0:
			return nil
		case err != nil:
			return unfinished(name, limited, err)
		case count >= MaxFiles:
			return refuse(name, "has more than %d files in it: hand in what make submit has made", MaxFiles)
		case header.Typeflag == tar.TypeXGlobalHeader:
			continue
		}
		e := entry{name: cleaned(header.Name), kind: kindOf(header), file: file{executable: header.Mode&0o100 != 0}}
		if e.name == "." {
			continue
		}
		var refused *RefusedError
		if err := do(e, reader); errors.As(err, &refused) {
			return err
		} else if err != nil {
			return unfinished(name, limited, err)
		}
	}
}

// unfinished returns the error for an archive that can't be read to its end.
func unfinished(archive string, limited *io.LimitedReader, err error) error {
	if limited.N <= 0 {
		return refuse(archive, "has more than %d MiB in it: hand in what make submit has made", maxArchive>>20)
	}
	return refuse(archive, "can't be read to its end (%s): hand in what make submit has made", firstLine(err.Error()))
}

// cleaned returns a name without what tar adds: ./ in front, and a slash after a directory.
func cleaned(name string) string {
	for strings.HasPrefix(name, "./") {
		name = name[2:]
	}
	if name == "" {
		return "."
	}
	return strings.TrimSuffix(name, "/")
}

// kindOf returns the type bits of an entry. tar knows links that file systems don't have.
func kindOf(header *tar.Header) fs.FileMode {
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		return 0
	case tar.TypeDir:
		return fs.ModeDir
	case tar.TypeSymlink, tar.TypeLink:
		return fs.ModeSymlink
	case tar.TypeFifo:
		return fs.ModeNamedPipe
	case tar.TypeChar, tar.TypeBlock:
		return fs.ModeDevice
	default:
		return fs.ModeIrregular
	}
}

// writeArchive writes the files and nothing else, so that the same files are always the same bytes: no times, owners or names of a
// machine. There is either all of it or nothing.
func (t *tree) writeArchive(archive string) (err error) {
	work, err := os.CreateTemp(filepath.Dir(archive), ".submission-")
	if err != nil {
		return err
	}
	defer os.Remove(work.Name())
	defer work.Close()
	packed := gzip.NewWriter(work)
	writer := tar.NewWriter(packed)
	for _, name := range t.names() {
		f := t.files[name]
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(f.content)), Mode: int64(f.mode()), Format: tar.FormatPAX}
		if err := writer.WriteHeader(header); err != nil {
			return err
		}
		if _, err := writer.Write(f.content); err != nil {
			return err
		}
	}
	if err := errors.Join(writer.Close(), packed.Close(), work.Chmod(0o644), work.Close()); err != nil {
		return err
	}
	return os.Rename(work.Name(), archive)
}
