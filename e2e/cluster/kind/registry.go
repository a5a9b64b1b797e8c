package kind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/distribution/reference"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/e2e-framework/support"
	"sigs.k8s.io/kind/pkg/cluster/nodes"

	"github.com/example/operator-testbed/e2e/cluster/internal/gorun"
	"github.com/example/operator-testbed/e2e/cluster/internal/provider"
)

// Registry is the local registry, as this machine and the nodes call it. The nodes know it by its container's name; see hosts.
const Registry = "localhost:5001"

const (
	// registryContainer is the name of the local registry's container, which all clusters of the testbed share.
	registryContainer = prefix + "registry"
	// registryPort is what it listens on in there.
	registryPort = "5000"
	// registryTimeout is how long an answer of a registry on this machine may take.
	registryTimeout = 10 * time.Second
)

// WithRegistry has the local registry beside the cluster: what is pushed to it, the nodes pull. The last cluster that goes takes
// it along.
func WithRegistry() support.ClusterOpts {
	return provider.Option(func(p *Provider) { p.registry = true })
}

// startRegistry starts the registry unless it runs. One that was stopped still has what was pushed to it.
func startRegistry(ctx context.Context, progress io.Writer) error {
	state, err := docker(ctx, "container", "inspect", "--format={{.State.Running}} {{.Config.Image}}", registryContainer)
	running, made, _ := strings.Cut(state, " ")
	if err == nil && running == "true" {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	fmt.Fprintf(progress, "start the registry %s\n", Registry)
	root, err := gorun.Root(ctx)
	if err != nil {
		return err
	}
	image, err := gorun.Line(ctx, progress, filepath.Join(root, "kind", "registry"))
	if err != nil {
		return fmt.Errorf("make the image of the registry %s: %w", Registry, err)
	}
	if strings.TrimPrefix(made, "localhost/") == image { // as podman calls an image that it has made
		if _, err = docker(ctx, "start", registryContainer); err != nil {
			return registryRefused(err)
		}
		return nil
	}
	if err := stopRegistry(ctx); err != nil { // of an older version
		return err
	}
	_, err = docker(ctx, "run", "--detach", "--name="+registryContainer, "--publish="+onLoopback(), "--restart=unless-stopped",
		"--cap-drop=ALL", "--security-opt=no-new-privileges", image)
	if err == nil || isNameTaken(err) { // by another command, which has started it in the meantime
		return nil
	}
	return errors.Join(registryRefused(err), stopRegistry(context.WithoutCancel(ctx)))
}

// onLoopback publishes the registry's port to this machine alone.
func onLoopback() string {
	return "127.0.0.1:" + strings.TrimPrefix(Registry, "localhost:") + ":" + registryPort
}

// isNameTaken reports whether Docker or podman did not create a container because there is one of that name.
func isNameTaken(err error) bool { return strings.Contains(err.Error(), "container name") }

// registryRefused says why Docker did not start the registry.
func registryRefused(err error) error {
	if text := err.Error(); strings.Contains(text, "already allocated") || strings.Contains(text, "already in use") && !isNameTaken(err) {
		return fmt.Errorf("the local registry needs %s, where another program listens: stop that one first", Registry)
	}
	return fmt.Errorf("start the local registry %s: %w", Registry, err)
}

// stopRegistry removes the registry's container, and with it what was pushed. None is fine.
func stopRegistry(ctx context.Context) error {
	found, err := docker(ctx, "ps", "--all", "--quiet", "--filter=name=^"+registryContainer+"$")
	if err != nil || found == "" {
		return err
	}
	_, err = docker(ctx, "rm", "--force", "--volumes", found)
	return err
}

// restoreRegistry starts the registry for a cluster that is up.
func (p *Provider) restoreRegistry(ctx context.Context) error {
	if err := startRegistry(ctx, p.progress); err != nil {
		return err
	}
	_, client, err := p.administrator()
	if err != nil {
		return err
	}
	return p.connectRegistry(ctx, client)
}

// connectRegistry connects the registry to the nodes, as kind's documentation of local registries describes: it is in their network,
// containerd knows under which name, and a ConfigMap announces it to other tools.
func (p *Provider) connectRegistry(ctx context.Context, client kubernetes.Interface) error {
	all, err := p.library().ListInternalNodes(inKind(p.name))
	if err != nil {
		return err
	}
	_, err = docker(ctx, "network", "connect", network(), registryContainer)
	if err != nil && !strings.Contains(err.Error(), "already") { // it is in there
		return err
	}
	for _, node := range all {
		if err := announce(ctx, node); err != nil {
			return fmt.Errorf("connect the node %s to the registry %s: %w", node, Registry, err)
		}
	}
	_, err = client.CoreV1().ConfigMaps(metav1.NamespacePublic).Create(ctx, hosting(), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// network is what kind calls the network of its nodes.
func network() string { return cmp.Or(os.Getenv("KIND_EXPERIMENTAL_DOCKER_NETWORK"), "kind") }

// announce configures a node's containerd with the name that the registry has in the nodes' network.
func announce(ctx context.Context, node nodes.Node) error {
	directory := "/etc/containerd/certs.d/" + Registry
	if err := node.CommandContext(ctx, "mkdir", "-p", directory).Run(); err != nil {
		return err
	}
	return node.CommandContext(ctx, "cp", "/dev/stdin", directory+"/hosts.toml").SetStdin(strings.NewReader(hosts())).Run()
}

// hosts is containerd's configuration for the registry: a node's localhost is its own.
func hosts() string {
	return fmt.Sprintf("[host.%q]\n", "http://"+registryContainer+":"+registryPort)
}

// hosting is where a cluster says that it has a local registry:
// https://github.com/kubernetes/enhancements/tree/master/keps/sig-cluster-lifecycle/generic/1755-communicating-a-local-registry
func hosting() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespacePublic, Name: "local-registry-hosting"},
		Data: map[string]string{
			"localRegistryHosting.v1": fmt.Sprintf("host: %q\nhelp: \"https://kind.sigs.k8s.io/docs/user/local-registry/\"\n", Registry),
		},
	}
}

// CheckName returns an error that says what is wrong with the name of an image.
func CheckName(image string) error {
	_, err := parse(image)
	return err
}

// CheckPush returns an error that says why an image of that name can't be pushed: the name is invalid, or it is in the local registry
// and that does not answer.
func CheckPush(ctx context.Context, image string) error {
	named, err := parse(image)
	if err != nil || named.Context().RegistryStr() != Registry {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, registryTimeout)
	defer cancel()
	if _, err := transport.Ping(ctx, named.Context().Registry, http.DefaultTransport); err != nil {
		return noAnswer(err)
	}
	return nil
}

// PushFlags returns more arguments for the command of a container engine that pushes an image: podman refuses a registry without TLS, also
// on this machine, which others don't.
func PushFlags(tool, image string) []string {
	named, err := parse(image)
	if err != nil || filepath.Base(tool) != "podman" {
		return nil
	}
	host, _, _ := strings.Cut(named.Context().RegistryStr(), ":")
	if address := net.ParseIP(host); host == "localhost" || address.IsLoopback() {
		return []string{"--tls-verify=false"}
	}
	return nil
}

// Pushed returns the name to deploy an image by: one of the local registry by its digest, so that another image under the same
// tag is another name; all others as they are.
func Pushed(ctx context.Context, image string) (string, error) {
	return pushed(ctx, Registry, image)
}

func pushed(ctx context.Context, registry, image string) (string, error) {
	named, err := parse(image)
	if err != nil || named.Context().RegistryStr() != registry {
		return image, err
	}
	if _, byDigest := named.(name.Digest); byDigest {
		return image, nil
	}
	ctx, cancel := context.WithTimeout(ctx, registryTimeout)
	defer cancel()
	descriptor, err := remote.Head(named, remote.WithContext(ctx), remote.WithRetryBackoff(remote.Backoff{Steps: 1}))
	if missing, ok := errors.AsType[*transport.Error](err); ok && missing.StatusCode == http.StatusNotFound {
		return "", fmt.Errorf("the registry %s has no %s: build and push it with `make docker-build docker-push`, and IMG if you named one", registry, image)
	}
	if err != nil {
		return "", noAnswer(err)
	}
	return named.Context().Digest(descriptor.Digest.String()).String(), nil
}

func noAnswer(err error) error {
	return fmt.Errorf("no registry answers at %s (%w): `make up CLUSTER=kind` starts one; or name an image of another with IMG=registry/name:tag", Registry, err)
}

// parse parses the name of an image. Docker's own parser checks it first, because
// the other one accepts names that Docker refuses, such as http://registry/operator.
func parse(image string) (name.Reference, error) {
	if _, err := reference.ParseNormalizedNamed(image); err != nil {
		return nil, fmt.Errorf("invalid IMG %q: want a name such as registry.example.com/team/operator:v1: %w", image, err)
	}
	return name.ParseReference(image)
}
