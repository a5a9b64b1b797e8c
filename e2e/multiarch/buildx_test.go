// Package multiarch_test builds images of the operators for several platforms, as make docker-buildx does.
package multiarch_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/example/operator-testbed/e2e/reaper"
	"github.com/example/operator-testbed/e2e/tier"
)

// engineVariable makes this test's executable play Docker: it holds the directory of the images.
const engineVariable = "MULTIARCH_TEST_ENGINE"

func TestMain(m *testing.M) {
	if images := os.Getenv(engineVariable); images != "" {
		if err := engine(images, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(reaper.Run(m))
}

// engine does what `make docker-buildx` asks Docker for, with images that hold a single file.
func engine(images string, args []string) error {
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	platform, _, tag, output := flags.String("platform", "", ""), flags.String("file", "", ""), flags.String("tag", "", ""), flags.String("output", "", "")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	archive := func(name string) string { return filepath.Join(images, strings.ReplaceAll(name, ":", "-")) }
	switch args[0] {
	case "build":
		_, architecture, _ := strings.Cut(*platform, "/")
		img, err := builtFrom(filepath.Join(flags.Arg(0), "manager"), architecture)
		if err != nil {
			return err
		}
		named, err := name.NewTag(*tag)
		if err != nil {
			return err
		}
		return tarball.WriteToFile(archive(*tag), named, img)
	case "save":
		content, err := os.ReadFile(archive(flags.Arg(0)))
		return errors.Join(err, os.WriteFile(*output, content, 0o600))
	case "rmi":
		return os.Remove(archive(flags.Arg(0)))
	}
	return fmt.Errorf("the engine of this test does not know %q", args)
}

// builtFrom returns an image with a file in the root, as Docker builds it: with the file's modification time.
func builtFrom(file, architecture string) (v1.Image, error) {
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		info, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var layer bytes.Buffer
		w := tar.NewWriter(&layer)
		err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: filepath.Base(file), Size: info.Size(), Mode: 0o755, ModTime: info.ModTime()})
		_, failed := w.Write(content)
		return io.NopCloser(&layer), errors.Join(err, failed, w.Close())
	}, tarball.WithCompressionLevel(gzip.NoCompression))
	if err != nil {
		return nil, err
	}
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: architecture, RootFS: v1.RootFS{Type: "layers"}})
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(img, layer)
}

// buildx runs make docker-buildx in a directory, and returns the image's name with its digest.
func buildx(t *testing.T, directory, image string, variables ...string) string {
	t.Helper()
	g := NewWithT(t)
	self, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	command := exec.CommandContext(t.Context(), "make", append([]string{"-s", "docker-buildx", "IMG=" + image, "CONTAINER_TOOL=" + self}, variables...)...)
	command.Dir = directory
	command.Env = append(os.Environ(), engineVariable+"="+t.TempDir())
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	g.Expect(err).NotTo(HaveOccurred(), "%s%s", out, &said)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// TestBuildsAreReproducible builds the operator's images in one directory, as make docker-buildx does, and the one for amd64 again
// in another directory: it has the same digest.
func TestBuildsAreReproducible(t *testing.T) {
	tier.Nightly(t)
	g := NewWithT(t)
	host := local(t)
	root := filepath.Join("..", "..")
	var digests []v1.Hash
	for directory, architectures := range map[string][]string{t.TempDir(): {"amd64", "arm64"}, filepath.Join(t.TempDir(), "another"): {"amd64"}} {
		g.Expect(os.CopyFS(filepath.Join(directory, "operator"), os.DirFS(filepath.Join(root, "operator")))).To(Succeed())
		for _, file := range []string{"go.mod", "go.sum"} {
			content, err := os.ReadFile(filepath.Join(root, file))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(os.WriteFile(filepath.Join(directory, file), content, 0o600)).To(Succeed())
		}
		pushed := buildx(t, filepath.Join(directory, "operator"), host+"/team/operator:v1", "PLATFORMS=linux/"+strings.Join(architectures, ",linux/"))
		digests = append(digests, digestsOf(t, pushed, architectures...)[0])
	}
	g.Expect(digests[1]).To(Equal(digests[0]))
}

// TestChaptersBuildForPlatforms builds the images of a chapter. That of the last one is the finished operator's.
func TestChaptersBuildForPlatforms(t *testing.T) {
	tier.Nightly(t)
	digestsOf(t, buildx(t, filepath.Join("..", ".."), local(t)+"/team/operator:v1", "STAGE=08-deployment"), "amd64", "arm64")
}

// machines are what the header of an ELF file says of the architectures: EM_X86_64 and EM_AARCH64.
var machines = map[string]byte{"amd64": 62, "arm64": 183}

// digestsOf returns the digests of a pushed image for the architectures. It has one for each and no other, and its only file is an
// executable for it.
func digestsOf(t *testing.T, image string, architectures ...string) (digests []v1.Hash) {
	t.Helper()
	g := NewWithT(t)
	named, err := name.ParseReference(image)
	g.Expect(err).NotTo(HaveOccurred())
	index, err := remote.Index(named)
	g.Expect(err).NotTo(HaveOccurred())
	manifest, err := index.IndexManifest()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manifest.Manifests).To(HaveLen(len(architectures)))
	for i, architecture := range architectures {
		digests = append(digests, manifest.Manifests[i].Digest)
		g.Expect(manifest.Manifests[i].Platform).To(HaveValue(Equal(v1.Platform{OS: "linux", Architecture: architecture})))
		img, err := index.Image(manifest.Manifests[i].Digest)
		g.Expect(err).NotTo(HaveOccurred())
		content := mutate.Extract(img)
		files := tar.NewReader(content)
		_, err = files.Next()
		g.Expect(err).NotTo(HaveOccurred())
		executable, err := io.ReadAll(files)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(executable[:4]).To(Equal([]byte("\x7fELF")))
		g.Expect(executable[18]).To(Equal(machines[architecture]))
		_, err = files.Next()
		g.Expect(err).To(MatchError(io.EOF))
		g.Expect(content.Close()).To(Succeed())
	}
	return digests
}

// local starts a registry and returns its host and port.
func local(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}
