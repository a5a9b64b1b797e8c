package archive

import (
	"archive/tar"
	"io"
	"os"
)

// AddFile adds a copy of a file to a tar file, under another name and with another
// mode. Its time and owner are left out, so that the same files make the same bytes.
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
