package main

import (
	"archive/tar"
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// saved writes an archive like the one that docker save writes of an image that was built at some time. The image's only file is
// the manager.
func saved(t *testing.T, directory, file, architecture, manager string, at time.Time) {
	t.Helper()
	g := NewWithT(t)
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		var content bytes.Buffer
		w := tar.NewWriter(&content)
		g.Expect(w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "manager", Size: int64(len(manager)), Mode: 0o755})).To(Succeed())
		_, err := w.Write([]byte(manager))
		g.Expect(err).NotTo(HaveOccurred())
		return io.NopCloser(&content), w.Close()
	})
	g.Expect(err).NotTo(HaveOccurred())
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: "linux", Architecture: architecture, Created: v1.Time{Time: at}, Container: "f00",
		Config: v1.Config{User: "65532:65532", Entrypoint: []string{"/manager"}, Hostname: "builder", Image: "sha256:" + at.String()},
		RootFS: v1.RootFS{Type: "layers"},
	})
	g.Expect(err).NotTo(HaveOccurred())
	img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: at}, CreatedBy: "COPY manager"}})
	g.Expect(err).NotTo(HaveOccurred())
	tag, err := name.NewTag("operator-multiarch:" + architecture)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tarball.WriteToFile(filepath.Join(directory, file), tag, img)).To(Succeed())
}

// local starts a registry and returns its host and port.
func local(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestPush(t *testing.T) {
	g := NewWithT(t)
	image := local(t) + "/team/operator:v1"
	push := func(at time.Time) string {
		directory := t.TempDir()
		saved(t, directory, "amd64.tar", "amd64", "for amd64", at)
		saved(t, directory, "arm64.tar", "arm64", "for arm64", at)
		var out bytes.Buffer
		g.Expect(run(t.Context(), []string{"push", image, "linux/arm64,linux/amd64", directory}, &out)).To(Succeed())
		return strings.TrimSpace(out.String())
	}
	pushed := push(time.Unix(1, 0))
	g.Expect(push(time.Unix(2, 0))).To(Equal(pushed), "the same executables, at another time")
	g.Expect(pushed).To(HavePrefix(strings.TrimSuffix(image, ":v1") + "@sha256:"))

	for _, reference := range []string{image, pushed} {
		named, err := name.ParseReference(reference)
		g.Expect(err).NotTo(HaveOccurred())
		index, err := remote.Index(named)
		g.Expect(err).NotTo(HaveOccurred())
		manifest, err := index.IndexManifest()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(manifest.MediaType).To(Equal(types.OCIImageIndex))
		g.Expect(manifest.Manifests).To(HaveLen(2))
		for i, architecture := range []string{"amd64", "arm64"} {
			g.Expect(manifest.Manifests[i].Platform).To(HaveValue(Equal(v1.Platform{OS: "linux", Architecture: architecture})))
			img, err := index.Image(manifest.Manifests[i].Digest)
			g.Expect(err).NotTo(HaveOccurred())
			config, err := img.ConfigFile()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(config.Architecture).To(Equal(architecture))
			g.Expect(config.Config).To(Equal(v1.Config{User: "65532:65532", Entrypoint: []string{"/manager"}}))
			files := tar.NewReader(mutate.Extract(img))
			header, err := files.Next()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(header.Name).To(Equal("manager"))
			g.Expect(io.ReadAll(files)).To(Equal([]byte("for " + architecture)))
		}
	}
}

func TestPushRefused(t *testing.T) {
	const closed = "127.0.0.1:1" // where no program listens
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Basic")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(locked.Close)
	host := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // no credentials

	directory := t.TempDir()
	saved(t, directory, "amd64.tar", "amd64", "for amd64", time.Unix(1, 0))
	saved(t, directory, "arm64.tar", "amd64", "for amd64", time.Unix(1, 0))
	if err := os.WriteFile(filepath.Join(directory, "s390x.tar"), []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := local(t) + "/team/operator:v1"
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"nothing to do":         {[]string{"push"}, "usage: "},
		"no platform":           {[]string{"check", good, ""}, "PLATFORMS is empty"},
		"an unknown platform":   {[]string{"check", good, "linux/amd64,linux/arm65"}, "PLATFORMS has linux/arm65, which is not a Linux platform"},
		"no platform of images": {[]string{"check", good, "darwin/arm64"}, "PLATFORMS has darwin/arm64, which is not a Linux platform"},
		"no name":               {[]string{"check", "Operator", "linux/amd64"}, "IMG=Operator is not a name that an image can be pushed to"},
		"a digest":              {[]string{"check", "team/operator@sha256:" + strings.Repeat("a", 64), "linux/amd64"}, "is not a name that an image can be pushed to"},
		"no registry":           {[]string{"check", closed + "/operator", "linux/amd64"}, "no registry answers at " + closed},
		"not logged in":         {[]string{"check", host(locked) + "/operator", "linux/amd64"}, "docker login " + host(locked)},
		"the registry has gone": {[]string{"push", closed + "/operator", "linux/amd64", directory}, "no registry answers at " + closed},
		"the wrong engine":      {[]string{"push", good, "linux/arm64", directory}, "the engine has built the image for linux/arm64 as one for linux/amd64"},
		"no archive":            {[]string{"push", good, "linux/s390x", directory}, "s390x.tar is not an archive of docker save"},
		"nothing was built":     {[]string{"push", good, "linux/ppc64le", directory}, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(t.Context(), test.args, io.Discard)
			NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring(test.says), Not(ContainSubstring("\n")))))
		})
	}
}

func TestCheckPrintsArchitectures(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	g.Expect(run(t.Context(), []string{"check", local(t) + "/operator", "linux/arm64 linux/amd64,linux/arm64"}, &out)).To(Succeed())
	g.Expect(out.String()).To(Equal("amd64\narm64\n"))
}
