package image_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/conformance/image"
	"github.com/example/operator-testbed/e2e/conformance/image/imagetest"
)

// other is an architecture that this machine does not have.
var other = map[bool]string{true: "arm64", false: "amd64"}[runtime.GOARCH == "amd64"]

// operator is an image like that of operator/Dockerfile.
func operator(t *testing.T) v1.Image {
	t.Helper()
	return imagetest.FromScratch(t, runtime.GOARCH,
		v1.Config{Entrypoint: []string{"/manager", "--zap-devel"}, Cmd: []string{"--leader-elect"}, Env: []string{"COLOR=red"}},
		map[string][]byte{"manager": imagetest.Executable(t, runtime.GOARCH, false)})
}

func reference(t *testing.T, text string) name.Reference {
	t.Helper()
	parsed, err := name.ParseReference(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func saved(t *testing.T, images ...v1.Image) string {
	t.Helper()
	named := map[string]v1.Image{}
	for i, img := range images {
		named[fmt.Sprintf("operator:v%d", i)] = img
	}
	return imagetest.Archive(t, named)
}

// inLayout writes an OCI layout.
func inLayout(t *testing.T, index v1.ImageIndex) string {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "layout")
	if _, err := layout.Write(directory, index); err != nil {
		t.Fatal(err)
	}
	return directory
}

// forPlatforms is an index of images and the attestation of how they were built, as buildx writes it.
func forPlatforms(images map[string]v1.Image) v1.ImageIndex {
	var index v1.ImageIndex = empty.Index
	for architecture, img := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: "linux", Architecture: architecture},
		}})
	}
	return mutate.AppendManifests(index, mutate.IndexAddendum{Add: empty.Image, Descriptor: v1.Descriptor{
		Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"},
	}})
}

// only is the index of a layout that holds one image or one index.
func only(content mutate.Appendable) v1.ImageIndex {
	return mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: content})
}

func written(t *testing.T, name string, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func compressed(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var short bytes.Buffer
	w := gzip.NewWriter(&short)
	_, err = w.Write(content)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return written(t, "image.tar.gz", short.Bytes())
}

// server is the address of a registry, which has an index "operators" and an image "operator".
func server(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(s.Close)
	address := strings.TrimPrefix(s.URL, "http://")
	if err := remote.Write(reference(t, address+"/operator:v1"), operator(t)); err != nil {
		t.Fatal(err)
	}
	index := forPlatforms(map[string]v1.Image{runtime.GOARCH: operator(t), other: empty.Image})
	if err := remote.WriteIndex(reference(t, address+"/operators:v1"), index); err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(reference(t, address+"/others:v1"), forPlatforms(map[string]v1.Image{other: empty.Image})); err != nil {
		t.Fatal(err)
	}
	return address
}

// extract extracts the program of an image.
func extract(t *testing.T, source string, command, args []string) (image.Program, string, error) {
	t.Helper()
	directory := t.TempDir()
	img, err := image.Open(t.Context(), source)
	if err != nil {
		return image.Program{}, directory, err
	}
	program, err := img.Program(t.Context(), directory, command, args)
	return program, directory, err
}

func TestProgram(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("images hold programs of Linux, which this machine does not run")
	}
	address := server(t)
	platforms := forPlatforms(map[string]v1.Image{runtime.GOARCH: operator(t), other: empty.Image})
	for name, source := range map[string]string{
		"docker save":                saved(t, operator(t)),
		"docker save, compressed":    compressed(t, saved(t, operator(t))),
		"an OCI layout":              inLayout(t, only(operator(t))),
		"a layout of many platforms": inLayout(t, only(platforms)),
		"a registry":                 address + "/operator:v1",
		"a registry's index":         address + "/operators:v1",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			program, directory, err := extract(t, source, nil, nil)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(program).To(Equal(image.Program{
				Path: filepath.Join(directory, "manager"), Args: []string{"--zap-devel", "--leader-elect"}, Env: []string{"COLOR=red"},
			}))
			g.Expect(os.ReadFile(program.Path)).To(Equal(imagetest.Executable(t, runtime.GOARCH, false)))
			g.Expect(image.IsProgram(program.Path)).To(BeTrue())
			g.Expect(image.IsProgram(source)).To(BeFalse())
		})
	}
}

func TestProgramOfAPod(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("images hold programs of Linux, which this machine does not run")
	}
	program := imagetest.Executable(t, runtime.GOARCH, false)
	img := imagetest.FromScratch(t, runtime.GOARCH,
		v1.Config{
			Entrypoint: []string{"/ko-app/cmd"}, Cmd: []string{"--from-image"}, WorkingDir: "/ko-app", Env: []string{"PATH=/nowhere:/bin"},
		},
		map[string][]byte{"ko-app/cmd": program, "usr/bin/manager": program})
	links := func(pairs ...string) v1.Layer {
		var content bytes.Buffer
		w := tar.NewWriter(&content)
		for pair := range slices.Chunk(pairs, 2) {
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: pair[0], Linkname: pair[1]}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return static.NewLayer(content.Bytes(), types.OCIUncompressedLayer)
	}
	img, err := mutate.AppendLayers(img, links("bin", "usr/bin", "usr/bin/operator", "../../bin/manager", "round", "trip", "trip", "round"))
	if err != nil {
		t.Fatal(err)
	}
	source := inLayout(t, only(img))
	for name, tc := range map[string]struct {
		command, args []string
		program       string
		before        []string
		fails         string
	}{
		"nothing":               {program: "cmd", before: []string{"--from-image"}},
		"args":                  {args: []string{"--a"}, program: "cmd"},
		"a command":             {command: []string{"/usr/bin/manager", "run"}, program: "manager", before: []string{"run"}},
		"a command and args":    {command: []string{"/usr/bin/manager"}, args: []string{"--a"}, program: "manager"},
		"a relative command":    {command: []string{"./cmd"}, program: "cmd"},
		"a command on the PATH": {command: []string{"manager"}, program: "manager"},
		"an invalid command":    {command: []string{"/bin/sh"}, fails: "has no file /bin/sh, which it is to run"},
		"a link":                {command: []string{"/bin/operator"}, program: "manager"},
		"links in circles":      {command: []string{"/round"}, fails: "has no file /round"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, _, err := extract(t, source, tc.command, tc.args)
			if tc.fails != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.fails)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(filepath.Base(got.Path)).To(Equal(tc.program))
			g.Expect(got.Args).To(HaveExactElements(tc.before))
		})
	}
}

func TestRefused(t *testing.T) {
	run := v1.Config{Entrypoint: []string{"/manager"}}
	of := func(architecture string, config v1.Config, content []byte) string {
		return saved(t, imagetest.FromScratch(t, architecture, config, map[string][]byte{"manager": content}))
	}
	address := server(t)
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, tc := range map[string]struct{ source, why string }{
		"no such file":                             {"./operator.tar", "there is no file ./operator.tar: name the operator's executable, or its image"},
		"no name":                                  {"No/Such", "there is no file No/Such, and no image can have that name"},
		"a file that is not an image":              {written(t, "notes.txt", []byte("notes")), "notes.txt is not an archive of one image"},
		"a directory without a layout":             {t.TempDir(), "is not the directory of an OCI layout"},
		"two images":                               {saved(t, operator(t), of2(t)), "is not an archive of one image"},
		"an empty layout":                          {inLayout(t, empty.Index), "holds 0 images for linux/" + runtime.GOARCH},
		"a layout of two images":                   {inLayout(t, mutate.AppendManifests(only(operator(t)), mutate.IndexAddendum{Add: of2(t)})), "holds 2 images for linux/" + runtime.GOARCH},
		"another architecture":                     {of(other, run, imagetest.Executable(t, other, false)), "is for linux/" + other + ", and this machine is linux/" + runtime.GOARCH},
		"only other platforms":                     {inLayout(t, only(forPlatforms(map[string]v1.Image{other: empty.Image, "s390x": empty.Image}))), "holds 0 images for linux/" + runtime.GOARCH},
		"another than it says":                     {of(runtime.GOARCH, run, imagetest.Executable(t, other, false)), "is for linux/" + other + ", and this machine is linux/" + runtime.GOARCH},
		"libraries":                                {of(runtime.GOARCH, run, imagetest.Executable(t, runtime.GOARCH, true)), "is linked to libraries of its image"},
		"a script":                                 {of(runtime.GOARCH, run, []byte("#!/bin/sh\n")), "is not an executable of Linux, perhaps a script"},
		"an empty file":                            {of(runtime.GOARCH, run, nil), "is not an executable of Linux"},
		"nothing to run":                           {of(runtime.GOARCH, v1.Config{}, nil), "names no program to run"},
		"another file to run":                      {of(runtime.GOARCH, v1.Config{Entrypoint: []string{"/operator"}}, nil), "has no file /operator, which it is to run"},
		"a registry's index without this platform": {address + "/others:v1", "can't be pulled: no child with platform linux/" + runtime.GOARCH},
		"a registry without it":                    {address + "/none:v1", "the image of that name can't be pulled"},
		"a registry that is not here":              {strings.TrimPrefix(gone.URL, "http://") + "/operator:v1", "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := extract(t, tc.source, nil, nil)
			g := NewWithT(t)
			g.Expect(err).To(MatchError(ContainSubstring(tc.why)))
			g.Expect(strings.Count(strings.TrimSpace(err.Error()), "\n")).To(BeZero(), "one sentence: %s", err)
		})
	}
}

// of2 is an image beside the operator's.
func of2(t *testing.T) v1.Image {
	t.Helper()
	return imagetest.FromScratch(t, runtime.GOARCH, v1.Config{}, map[string][]byte{"other": nil})
}

// An executable that can't run here is refused before a cluster is brought up for it. One that needs libraries finds them here.
func TestCheckProgram(t *testing.T) {
	for name, tc := range map[string]struct {
		content []byte
		words   string
	}{
		"for this machine":       {imagetest.Executable(t, runtime.GOARCH, false), ""},
		"with libraries":         {imagetest.Executable(t, runtime.GOARCH, true), ""},
		"for another machine":    {imagetest.Executable(t, other, false), "manager is for linux/" + other + ", and this machine is linux/" + runtime.GOARCH + ": build it for this machine's platform"},
		"a script":               {[]byte("#!/bin/sh\n"), ""},
		"a text":                 {[]byte("notes"), "manager is not an executable of Linux: give the executable that the operator is compiled to"},
		"an empty file":          {nil, "manager is not an executable of Linux"},
		"of another system (MZ)": {[]byte("MZ\x90\x00"), "manager is not an executable of Linux"},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS != "linux" && tc.words != "" {
				t.Skip("what another system runs is not known here")
			}
			err := image.CheckProgram(written(t, "manager", tc.content))
			if tc.words == "" && err != nil || tc.words != "" && (err == nil || !strings.Contains(err.Error(), tc.words)) {
				t.Errorf("got %v, expected %q", err, tc.words)
			}
		})
	}
}
