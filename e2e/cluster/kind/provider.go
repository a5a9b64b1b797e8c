package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/e2e-framework/klient"
	"sigs.k8s.io/e2e-framework/support"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"

	"github.com/example/operator-testbed/e2e/cluster/internal/provider"
)

// Kind is the name of this kind of cluster.
const Kind = "kind"

// Provider creates and destroys one kind cluster. It implements e2e-framework's support.E2EClusterProvider.
type Provider struct {
	name      string
	image     string // of a node; empty means the one that is found
	keep      bool
	attached  bool // to a cluster of somebody else's
	temporary bool
	complete  bool   // with add-ons, although it is temporary
	held      *claim // of a temporary cluster that is up
	registry  bool   // beside the cluster
	progress  io.Writer
	layout    layout
	config    *rest.Config // the administrator's; nil while the cluster is not up
}

var _ support.E2EClusterProviderWithImageLoader = &Provider{}

// NewProvider returns a provider for a cluster that is not there yet.
func NewProvider() *Provider {
	return &Provider{name: "testbed", progress: io.Discard}
}

// WithProgress writes a short line to w for each step.
func WithProgress(w io.Writer) support.ClusterOpts {
	return provider.Option(func(p *Provider) { p.progress = w })
}

// Keep makes Destroy leave the cluster as it is; see Kept.
func Keep() support.ClusterOpts {
	return provider.Option(func(p *Provider) { p.keep = true })
}

// Temporary ends the cluster with this process. If the process is killed before it calls Destroy, the reaper of its tests removes the
// cluster, or else the next process that creates one. Unless it is kept or Complete, it has neither DNS nor a provisioner of volumes, which
// suites don't use.
func Temporary() support.ClusterOpts {
	return provider.Option(func(p *Provider) { p.temporary = true })
}

// Complete gives a temporary cluster the DNS and the provisioner of volumes that others have.
func Complete() support.ClusterOpts {
	return provider.Option(func(p *Provider) { p.complete = true })
}

// Attached makes Create return the cluster of that name, which must be up, and Destroy leave it up.
func Attached(name string) support.ClusterOpts {
	return provider.Option(func(p *Provider) { p.name, p.attached = name, true })
}

// AlreadyUpError says that a cluster of that name is up.
type AlreadyUpError struct {
	// Name is the name of the cluster.
	Name string
	// Kubeconfig is the path of its kubeconfig.
	Kubeconfig string
}

func (e *AlreadyUpError) Error() string {
	return fmt.Sprintf("the kind cluster %s is already up: use it (KUBECONFIG=%s), take it down with `make down CLUSTER=kind NAME=%s`, or choose another name",
		e.Name, e.Kubeconfig, e.Name)
}

// NotUpError says that no cluster of that name is up.
type NotUpError struct {
	// Name is the name of the cluster.
	Name string
}

func (e *NotUpError) Error() string {
	return fmt.Sprintf("no kind cluster called %s is up: create it with `make up CLUSTER=kind NAME=%s`", e.Name, e.Name)
}

// errForeign says that somebody else's containers have the names that the cluster's would have.
var errForeign = errors.New("this testbed did not create it, so it is left alone")

// AuditLog returns the path of the API server's audit log, which its node writes into a directory of this machine.
func (p *Provider) AuditLog() string { return p.layout.auditLog() }

// SetDefaults returns the provider: it has its defaults from the start.
func (p *Provider) SetDefaults() support.E2EClusterProvider { return p }

// WithName sets the cluster's name, a DNS label, unless it is Attached. Its containers are called after it:
// operator-testbed-NAME-control-plane.
func (p *Provider) WithName(name string) support.E2EClusterProvider {
	if !p.attached {
		p.name = name
	}
	return p
}

// WithVersion sets the version of Kubernetes: that of kindest/node's tag.
func (p *Provider) WithVersion(version string) support.E2EClusterProvider {
	p.image = "kindest/node:" + version
	return p
}

// WithPath has no effect: kind is a library here.
func (p *Provider) WithPath(string) support.E2EClusterProvider { return p }

// WithOpts applies options of this package; others have no effect.
func (p *Provider) WithOpts(opts ...support.ClusterOpts) support.E2EClusterProvider {
	return provider.WithOpts(p, opts)
}

// Create makes a cluster of kind/cluster.yaml and returns the path of its kubeconfig, once the nodes are ready and, where it has them,
// CoreDNS and the storage. The nodes' image is the one that $KIND_NODE_IMAGE names; or the kindest/node that kind pins, if Docker has it or
// can pull it in time; or one made from source. The error is an *AlreadyUpError when a cluster of that name is up; after any
// error, and when ctx ends, nothing is left. It takes no args.
func (p *Provider) Create(ctx context.Context, args ...string) (string, error) {
	if len(args) > 0 {
		return "", fmt.Errorf("create the kind cluster %s: unknown arguments %q: leave them out", p.name, args)
	}
	return p.CreateWithConfig(ctx, "")
}

// CreateWithConfig is Create with another configuration of kind's. In one that keeps an audit log, it is in the directory
// /var/log/kubernetes of the first node.
func (p *Provider) CreateWithConfig(ctx context.Context, configFile string) (string, error) {
	if p.attached {
		err := p.attach(ctx)
		return p.GetKubeconfig(), err
	}
	err := p.create(ctx, configFile)
	if errors.As(err, new(*AlreadyUpError)) {
		return "", err
	}
	if err != nil {
		return "", fmt.Errorf("create the kind cluster %s: %w", p.name, err)
	}
	return p.GetKubeconfig(), nil
}

// Attach returns the provider of a cluster that is up, or a *NotUpError.
func Attach(ctx context.Context, name string) (*Provider, error) {
	p := NewProvider()
	p.name = name
	err := p.attach(ctx)
	return p, err
}

// attach makes the provider that of a cluster which is up.
func (p *Provider) attach(ctx context.Context) error {
	if err := p.find(ctx); err != nil {
		return err
	}
	there, err := p.isThere(ctx)
	if err != nil {
		return err
	}
	said, err := p.layout.claimed()
	if err != nil {
		return err
	}
	if !there || said == unfinished {
		return &NotUpError{Name: p.name}
	}
	p.config, err = provider.RestConfig(p.GetKubeconfig())
	return err
}

// GetKubeconfig returns the path of the administrator's kubeconfig, which is known from Create on.
func (p *Provider) GetKubeconfig() string { return p.layout.kubeconfig() }

// GenerateKubeconfig returns the path of the administrator's kubeconfig.
func (p *Provider) GenerateKubeconfig(...string) (string, error) { return p.GetKubeconfig(), nil }

// GetKubectlContext returns the name of the context in the kubeconfig.
func (p *Provider) GetKubectlContext() string { return "kind-" + inKind(p.name) }

// KubernetesRestConfig returns the administrator's access, without a limit on requests per second; nil while the cluster is not
// up.
func (p *Provider) KubernetesRestConfig() *rest.Config {
	return provider.Copy(p.config)
}

// WaitForControlPlane does nothing: Create returns when the cluster is ready.
func (p *Provider) WaitForControlPlane(context.Context, klient.Client) error { return nil }

// ExportLogs collects the nodes' logs, those of their pods and the audit log in the directory dest.
func (p *Provider) ExportLogs(_ context.Context, dest string) error {
	if err := p.library().CollectLogs(inKind(p.name), dest); err != nil {
		return fmt.Errorf("export the logs of the kind cluster %s: %w", p.name, err)
	}
	return nil
}

// Destroy deletes the cluster and its directory, unless it is to be kept or Attached. One that is not up is fine; somebody else's is an error.
func (p *Provider) Destroy(ctx context.Context) error {
	if p.attached {
		return nil
	}
	if p.keep {
		return p.leave()
	}
	if err := p.find(ctx); err != nil {
		return err
	}
	if err := p.destroy(ctx); err != nil {
		return fmt.Errorf("destroy the kind cluster %s: %w", p.name, err)
	}
	p.config = nil
	return nil
}

// leave makes a temporary cluster one that stays.
func (p *Provider) leave() error {
	if p.held == nil {
		return nil
	}
	held := p.held
	p.held = nil
	p.unguard()
	return held.complete()
}

// destroy removes what there is of the cluster, be it complete or not.
func (p *Provider) destroy(ctx context.Context) (err error) {
	c := p.held
	if c == nil {
		if c, err = p.claim(); err != nil {
			return err
		}
	}
	p.held = nil
	defer c.release()
	if _, err := p.isThere(ctx); errors.Is(err, errForeign) {
		return errors.Join(err, os.RemoveAll(string(p.layout)))
	} else if err != nil {
		return err
	}
	if err := c.say(unfinished); err != nil {
		return err
	}
	return p.remove()
}

// Kept says how the cluster is reached that Destroy leaves up; empty when it leaves none.
func (p *Provider) Kept() string {
	if !p.keep || p.config == nil {
		return ""
	}
	return fmt.Sprintf("The kind cluster %s is kept: use it with eval \"$(make -s env CLUSTER=kind NAME=%s)\", take it down with make down CLUSTER=kind NAME=%s", p.name, p.name, p.name)
}

// remove deletes the cluster's containers, be they complete or not, its directory, and with the last cluster the registry. The
// cluster must be claimed.
func (p *Provider) remove() error {
	ctx := context.Background() // it is done although nobody waits any more
	err := errors.Join(p.library().Delete(inKind(p.name), p.GetKubeconfig()), os.RemoveAll(string(p.layout)), p.removeShared(ctx))
	if err == nil {
		p.unguard()
	}
	return err
}

// isThere reports whether the cluster has a container. The error is errForeign when the container is somebody else's: ours has our
// directory for its logs.
func (p *Provider) isThere(ctx context.Context) (bool, error) {
	nodes, err := p.library().ListNodes(inKind(p.name))
	if err != nil || len(nodes) == 0 {
		return false, err
	}
	for _, node := range nodes {
		mounts, err := docker(ctx, "inspect", "--format={{range .Mounts}}{{println .Source}}{{end}}", node.String())
		if err != nil {
			return false, err
		}
		for _, source := range lines(mounts) {
			if filepath.Clean(source) == p.layout.logs() {
				return true, nil
			}
		}
	}
	return false, fmt.Errorf("there is already a kind cluster %s: %w: choose another name, or remove it with `kind delete cluster --name=%[1]s`", inKind(p.name), errForeign)
}

// library returns kind's.
func (p *Provider) library() *kindcluster.Provider {
	return kindcluster.NewProvider(nodeProvider(Program()), kindcluster.ProviderWithLogger(logger{p.progress}))
}

// find sets the paths, once the engine is known to answer.
func (p *Provider) find(ctx context.Context) (err error) {
	if p.layout, err = layoutOf(p.name); err != nil {
		return err
	}
	return CheckDocker(ctx)
}

// administrator returns the administrator's way to the cluster.
func (p *Provider) administrator() (*rest.Config, kubernetes.Interface, error) {
	config, err := provider.RestConfig(p.GetKubeconfig())
	if err != nil {
		return nil, nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	return config, client, err
}
