package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/e2e-framework/klient"
	"sigs.k8s.io/e2e-framework/support"

	"github.com/example/operator-testbed/e2e/cluster/internal/provider"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

// Kind is the name of this kind of cluster.
const Kind = "embedded"

// Version is the version of Kubernetes that the cluster runs.
const Version = "v1.37.0"

// DefaultName is the name of a cluster that nobody named.
const DefaultName = "testbed"

// Provider creates and destroys one embedded cluster. It implements
// e2e-framework's support.E2EClusterProvider.
type Provider struct {
	name    string
	options options
	layout  layout
	sup     *supervisor.Supervisor // nil while the cluster is not up
	config  *rest.Config           // the administrator's; nil likewise
	inUse   *os.File               // locked while it is Attached
}

var _ support.E2EClusterProviderWithImageLoader = &Provider{}

// NewProvider returns a provider for a cluster that is not there yet.
func NewProvider() *Provider {
	return &Provider{name: DefaultName, options: defaults()}
}

// AlreadyUpError says that a cluster of that name is up.
type AlreadyUpError struct {
	// Name is the name of the cluster.
	Name string
	// Kubeconfig is the path of its kubeconfig.
	Kubeconfig string
}

func (e *AlreadyUpError) Error() string {
	return fmt.Sprintf("the cluster %s is already up: use it (KUBECONFIG=%s), destroy it first, or choose another name", e.Name, e.Kubeconfig)
}

// NotUpError says that no cluster of that name is up.
type NotUpError struct {
	// Name is the name of the cluster.
	Name string
}

func (e *NotUpError) Error() string {
	return fmt.Sprintf("no embedded cluster called %s is up: create it first", e.Name)
}

// Supervisor returns the supervisor of the cluster's processes, which are
// called like the components ([KubeAPIServer], ...) and do their work again as
// soon as they run. It may run others beside them. It is nil while the cluster
// is not up.
func (p *Provider) Supervisor() *supervisor.Supervisor { return p.sup }

// AuditLog returns the path of the API server's audit log: one event of
// audit.k8s.io/v1 in JSON per line. An event is written when its request is
// done, which may be a moment after the client has the answer.
//
// Like the other paths it is known from Create on.
func (p *Provider) AuditLog() string { return p.layout.auditLog() }

// SetDefaults returns the provider: it has its defaults from the start.
func (p *Provider) SetDefaults() support.E2EClusterProvider { return p }

// WithName sets the cluster's name, a DNS label, unless it is Attached. It is
// unique per user and state folder.
func (p *Provider) WithName(name string) support.E2EClusterProvider {
	if !p.options.attached {
		p.name = name
	}
	return p
}

// WithVersion sets the version of Kubernetes. There is only one; Create
// refuses any other.
func (p *Provider) WithVersion(version string) support.E2EClusterProvider {
	p.options.version = version
	return p
}

// WithPath sets the folder that holds the components' executables, instead of
// the one that [Assets] finds.
func (p *Provider) WithPath(path string) support.E2EClusterProvider {
	p.options.assets = path
	return p
}

// WithOpts applies options of this package; others have no effect.
func (p *Provider) WithOpts(opts ...support.ClusterOpts) support.E2EClusterProvider {
	return provider.WithOpts(p, opts)
}

// Create starts the cluster and returns the path of its kubeconfig, once the
// nodes are Ready and pods can be created in the namespace default. The error
// is an *AlreadyUpError when a cluster of that name is up; after any error
// nothing is left. It takes no args.
func (p *Provider) Create(ctx context.Context, args ...string) (string, error) {
	if len(args) > 0 {
		return "", fmt.Errorf("create the embedded cluster %s: unknown arguments %q: set it up with the options of package embedded", p.name, args)
	}
	if p.options.attached {
		return p.attachAndReset(ctx)
	}
	if err := p.create(ctx); err != nil {
		if up := new(AlreadyUpError); errors.As(err, &up) {
			return "", err
		}
		return "", fmt.Errorf("create the embedded cluster %s: %w", p.name, err)
	}
	return p.GetKubeconfig(), nil
}

// CreateWithConfig is Create for an empty configFile; there is no such file.
func (p *Provider) CreateWithConfig(ctx context.Context, configFile string) (string, error) {
	if configFile != "" {
		return "", fmt.Errorf("create the embedded cluster %s: it takes no configuration file (got %s): use the options of package embedded", p.name, configFile)
	}
	return p.Create(ctx)
}

// GetKubeconfig returns the path of the administrator's kubeconfig, which is
// known from Create on.
func (p *Provider) GetKubeconfig() string { return p.layout.kubeconfig() }

// GenerateKubeconfig returns the path of the administrator's kubeconfig.
func (p *Provider) GenerateKubeconfig(...string) (string, error) { return p.GetKubeconfig(), nil }

// GetKubectlContext returns the name of the context in the kubeconfig.
func (p *Provider) GetKubectlContext() string { return contextName(p.name) }

// KubernetesRestConfig returns the administrator's access, without a limit on
// requests per second; nil while the cluster is not up.
func (p *Provider) KubernetesRestConfig() *rest.Config {
	return provider.Copy(p.config)
}

// WaitForControlPlane returns when the API server is ready: at once after
// Create, and after a while where the API server was killed since. It answers
// an administrator before that, but does not know everybody's rights yet.
func (p *Provider) WaitForControlPlane(ctx context.Context, _ klient.Client) error {
	if p.config == nil {
		return &NotUpError{Name: p.name}
	}
	return untilOK(ctx, p.config, "/readyz")
}

// ExportLogs copies the components' logs and the audit log into the directory dest.
func (p *Provider) ExportLogs(_ context.Context, dest string) error {
	audit, err := os.ReadFile(p.AuditLog())
	if err == nil {
		err = os.CopyFS(dest, os.DirFS(p.layout.path("logs")))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dest, filepath.Base(p.AuditLog())), audit, 0o644)
	}
	if err != nil {
		return fmt.Errorf("export the logs of the embedded cluster %s: %w", p.name, err)
	}
	return nil
}

// LoadImage refuses: nothing in this cluster could run an image.
func (p *Provider) LoadImage(_ context.Context, image string, _ ...string) error {
	return p.refuseImage(image)
}

// LoadImageArchive refuses: nothing in this cluster could run an image.
func (p *Provider) LoadImageArchive(_ context.Context, archive string, _ ...string) error {
	return p.refuseImage(archive)
}

func (p *Provider) refuseImage(what string) error {
	return fmt.Errorf("load %s: the embedded cluster %s has no real kubelet, so a pod would be called Ready without running it: use a kind cluster (CLUSTER=kind)", what, p.name)
}

// Destroy ends the cluster and everything its supervisor runs, and removes its
// folder: the cluster of that name, whichever program created it. One that is
// not up is fine; of one whose processes were killed it cleans up the rest.
//
// One that is Attached stays up, and only what others run beside it ends.
func (p *Provider) Destroy(ctx context.Context) error {
	if p.options.attached {
		return p.leave(ctx)
	}
	if p.sup == nil {
		if err := p.attach(); errors.As(err, new(*NotUpError)) {
			return nil
		} else if err != nil {
			return err
		}
	}
	if err := p.sup.Shutdown(ctx); err != nil {
		return fmt.Errorf("destroy the embedded cluster %s: %w", p.name, err)
	}
	p.sup, p.config = nil, nil
	return nil
}
