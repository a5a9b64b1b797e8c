// Package imagetest makes images for tests.
package imagetest

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// FromScratch makes an image for Linux, as a Dockerfile with FROM scratch and COPY does. Its files are executable, which those of
// crane.Layer are not.
func FromScratch(t testing.TB, architecture string, config v1.Config, files map[string][]byte) v1.Image {
	t.Helper()
	img, err := New(architecture, config, files)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// New is [FromScratch] outside of a test.
func New(architecture string, config v1.Config, files map[string][]byte) (v1.Image, error) {
	archive, err := archived(files)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil })
	if err != nil {
		return nil, err
	}
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: "linux", Architecture: architecture, Config: config, RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(img, layer)
}

// Archive writes an archive, as docker save does, of images by their names, and returns its path.
func Archive(t testing.TB, images map[string]v1.Image) string {
	t.Helper()
	named := map[name.Reference]v1.Image{}
	for reference, image := range images {
		parsed, err := name.ParseReference(reference)
		if err != nil {
			t.Fatal(err)
		}
		named[parsed] = image
	}
	archive := filepath.Join(t.TempDir(), "images.tar")
	if err := tarball.MultiRefWriteToFile(archive, named); err != nil {
		t.Fatal(err)
	}
	return archive
}

// machines are architectures by their names in Go.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// Executable returns the beginning of an executable of Linux, which is all that package image reads. With an interpreter, it is linked
// dynamically. It skips a test for an architecture that it does not know.
func Executable(t testing.TB, architecture string, interpreter bool) []byte {
	t.Helper()
	machine, known := machines[architecture]
	if !known {
		t.Skipf("this test has no ELF machine for the architecture %s", architecture)
	}
	header := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
	}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS], header.Ident[elf.EI_DATA], header.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	program := elf.Prog64{Type: uint32(elf.PT_LOAD)}
	if interpreter {
		program.Type = uint32(elf.PT_INTERP)
	}
	var file bytes.Buffer
	for _, part := range []any{header, program} {
		if err := binary.Write(&file, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return file.Bytes()
}

// archived makes a tar archive of executable files, in the order of their names.
func archived(files map[string][]byte) ([]byte, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	tree := fstest.MapFS{}
	for name, content := range files {
		tree[name] = &fstest.MapFile{Data: content, Mode: 0o755}
	}
	err := errors.Join(w.AddFS(tree), w.Close())
	return archive.Bytes(), err
}
