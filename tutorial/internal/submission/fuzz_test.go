package submission_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/example/operator-testbed/tutorial/internal/submission"
)

// Whatever the bytes of an archive are, it is refused, or unpacked into a directory that is a submission. Nothing is written beside it,
// and nothing in it is anything but a regular file that only its owner can write to.
func FuzzUnpack(f *testing.F) {
	seed := func(entries ...tar.Header) {
		var packed bytes.Buffer
		writer := tar.NewWriter(&packed)
		for _, entry := range entries {
			text := entry.Linkname
			if entry.Typeflag == 0 {
				entry.Typeflag, entry.Linkname, entry.Size = tar.TypeReg, "", int64(len(text))
			} else {
				text = ""
			}
			if err := writer.WriteHeader(&entry); err != nil {
				f.Fatal(err)
			}
			if _, err := writer.Write([]byte(text)); err != nil {
				f.Fatal(err)
			}
		}
		if err := writer.Close(); err != nil {
			f.Fatal(err)
		}
		f.Add(packed.Bytes())
	}
	seed(headers(sound(nil))...)
	for _, hostile := range []tar.Header{
		{Name: "../escaped"}, {Name: "/escaped"}, {Name: "cmd//x.go"}, {Name: "cmd/main.go/x"}, {Name: "caf\xe9.go", Format: tar.FormatGNU},
		{Name: "cmd/x.go", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, {Name: "cmd/x.go", Typeflag: tar.TypeLink, Linkname: "go.mod"},
		{Name: "cmd/x.go", Typeflag: tar.TypeFifo}, {Name: "copy/.stage", Linkname: "04-status\n"}, {Name: "cmd/x.sh", Linkname: "#!/bin/sh\n", Mode: 0o6777},
	} {
		seed(append(headers(sound(nil)), hostile)...)
	}
	f.Fuzz(func(t *testing.T, unpacked []byte) {
		above := t.TempDir()
		archive := filepath.Join(above, "s07.tar.gz")
		var packed bytes.Buffer
		compressed := gzip.NewWriter(&packed)
		if _, err := compressed.Write(unpacked); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(compressed.Close(), os.WriteFile(archive, packed.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(above, "to")
		refused := submission.Unpack(root, archive, dir)
		if refused != nil {
			if _, ok := errors.AsType[*submission.RefusedError](refused); !ok {
				t.Errorf("a failure of the grader: %v", refused)
			}
		} else if err := submission.Judge(root, dir); err != nil {
			t.Errorf("it was accepted, and is refused as a directory: %v", err)
		}
		err := filepath.WalkDir(above, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || path == above || path == archive {
				return err
			}
			if within, err := filepath.Rel(dir, path); refused != nil || err != nil || !filepath.IsLocal(within) {
				t.Errorf("%s was written; refused: %v", path, refused)
			}
			info, err := entry.Info()
			if err == nil && !entry.IsDir() && (!entry.Type().IsRegular() || info.Mode()&^0o755 != 0) {
				t.Errorf("%s has the mode %s", path, info.Mode())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
