package archive

import (
	"archive/tar"
	"io"
	"os"
)

// AddFile adds the copy of a file of this machine to a tar file, under another name and with another mode, and nothing else of
// what it is here, so that what is made from the same files is the same.
func AddFile(w *tar.Writer, name, source string, mode int64) error {
	f, err := os.Open(source)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: mode}); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}

// AddBytes adds a file that holds data.
func AddBytes(w *tar.Writer, name string, data []byte, mode int64) error {
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: mode}); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}
