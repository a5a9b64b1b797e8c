package kind

import (
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

func TestNamesOfImages(t *testing.T) {
	g := NewWithT(t)
	for _, good := range []string{"controller", "localhost:5001/team/operator:v1", "registry.example.com/operator@sha256:" + sixtyFour} {
		g.Expect(CheckName(good)).To(Succeed(), good)
	}
	for _, bad := range []string{"", "Operator", "operator:", "http://registry/operator", "-operator"} {
		g.Expect(CheckName(bad)).To(MatchError(And(HavePrefix("invalid IMG %q: ", bad), Not(ContainSubstring("\n")))), bad)
	}
}

const sixtyFour = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// What is not the local registry's is deployed by the name that it has, and nobody is asked about it.
func TestNameToDeploy(t *testing.T) {
	g := NewWithT(t)
	for _, image := range []string{"controller:latest", "registry.example.com/operator:v1", Registry + "/operator@sha256:" + sixtyFour} {
		name, err := Pushed(t.Context(), image)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(name).To(Equal(image))
	}
	_, err := Pushed(t.Context(), "Operator")
	g.Expect(err).To(MatchError(HavePrefix(`invalid IMG "Operator": `)))
}

func TestPushedByDigest(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	tag, err := name.NewTag(address + "/team/operator:v1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(remote.Write(tag, empty.Image)).To(Succeed())
	digest, err := empty.Image.Digest()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pushed(t.Context(), address, tag.String())).To(Equal(address + "/team/operator@" + digest.String()))
	_, err = pushed(t.Context(), address, address+"/team/operator:v2")
	g.Expect(err).To(MatchError(ContainSubstring(" has no %s/team/operator:v2: build and push it", address)))
}

func TestRegistryIsThisMachinesAlone(t *testing.T) {
	g := NewWithT(t)
	g.Expect(onLoopback()).To(Equal("127.0.0.1:5001:5000"))
	g.Expect(hosts()).To(Equal("[host.\"http://operator-testbed-registry:5000\"]\n"))
	var told struct{ Host, Help string }
	config := hosting()
	g.Expect(yaml.UnmarshalStrict([]byte(config.Data["localRegistryHosting.v1"]), &told)).To(Succeed())
	g.Expect(told.Host).To(Equal(Registry))
}

func TestRegistryRefused(t *testing.T) {
	g := NewWithT(t)
	for _, taken := range []string{
		"docker run: Bind for 127.0.0.1:5001 failed: port is already allocated.",
		"docker run: listen tcp4 127.0.0.1:5001: bind: address already in use.",
	} {
		g.Expect(registryRefused(errors.New(taken))).To(MatchError("the local registry needs localhost:5001, where another program listens: stop that one first"))
	}
	g.Expect(registryRefused(errors.New("docker run: no space left on device"))).To(MatchError(ContainSubstring("no space left")))
	g.Expect(registryRefused(errors.New(`docker run: Conflict. The container name "/x" is already in use`))).To(MatchError(ContainSubstring("Conflict")))
	g.Expect(isNameTaken(errors.New(`docker run: Conflict. The container name "/x" is already in use`))).To(BeTrue())
	g.Expect(isNameTaken(errors.New("docker run: listen tcp4 127.0.0.1:5001: bind: address already in use"))).To(BeFalse())
}

func TestReasonInWhatDockerTells(t *testing.T) {
	g := NewWithT(t)
	for told, want := range map[string]string{
		"": "",
		"WARNING: old\nError: No such image: x\n":                                       "Error: No such image: x",
		"docker: Error response from daemon: no.\n\nRun 'docker run --help' for more\n": "Error response from daemon: no.",
		"docker: Error response from daemon: no.\nSee 'docker run --help'.\n":           "Error response from daemon: no.",
	} {
		g.Expect(reasonIn(told)).To(Equal(want), told)
	}
}

func TestPushFlags(t *testing.T) {
	g := NewWithT(t)
	for _, image := range []string{Registry + "/operator:v1", "127.0.0.1:5000/operator", "localhost/operator"} {
		g.Expect(PushFlags("podman", image)).To(ConsistOf("--tls-verify=false"), image)
		g.Expect(PushFlags("/usr/bin/podman", image)).To(ConsistOf("--tls-verify=false"), image)
		g.Expect(PushFlags("docker", image)).To(BeEmpty(), image)
		g.Expect(PushFlags("nerdctl", image)).To(BeEmpty(), image)
	}
	for _, image := range []string{"registry.example.com/operator:v1", "operator", "localhost.example.com/operator"} {
		g.Expect(PushFlags("podman", image)).To(BeEmpty(), image)
	}
}
