package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/semver"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/e2e-framework/klient"
	"sigs.k8s.io/e2e-framework/support"

	"github.com/example/operator-testbed/e2e/cluster/internal/provider"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

// Kind is the name of this kind of cluster.
const Kind = "embedded"

// Version is the version of Kubernetes that a cluster runs, unless [Provider.WithVersion] says otherwise.
const Version = "v1.37.0"

// PreviousVersion is the other one that a cluster can run: a release of the minor version before.
const PreviousVersion = "v1.36.5"

// FindVersion returns the version that a cluster can run of a minor version, such as v1.36.
func FindVersion(minor string) (string, error) {
	for _, version := range []string{Version, PreviousVersion} {
		if semver.MajorMinor(version) == minor {
			return version, nil
		}
	}
	return "", fmt.Errorf("unknown version of Kubernetes %q: use %s, or %s, which is the default", minor, semver.MajorMinor(PreviousVersion), semver.MajorMinor(Version))
}

// EmulatedVersions are the older versions that [WithEmulatedVersion] takes, the newest first: Kubernetes can emulate three.
var EmulatedVersions = []string{"1.36", "1.35", "1.34"}

// DefaultName is the name of a cluster that nobody named.
const DefaultName = "testbed"

// Provider creates and destroys one embedded cluster. It implements
// e2e-framework's support.E2EClusterProvider.
type Provider struct {
	name     string
	options  options
	layout   layout
	sup      *supervisor.Supervisor // nil while the cluster is not up
	config   *rest.Config           // the administrator's; nil likewise
	inUse    *os.File               // locked while it is Attached
	giveBack func() error           // gives a Borrowed cluster back; nil while there is none
}

var _ support.E2EClusterProviderWithImageLoader = &Provider{}

// NewProvider returns a provider for a cluster that does not exist yet.
func NewProvider() *Provider {
	return &Provider{name: DefaultName, options: defaults()}
}

// AlreadyUpError is the error of [Provider.Create] for a name under which a cluster is up.
type AlreadyUpError struct {
	// Name is the name of the cluster.
	Name string
	// Kubeconfig is the path of its kubeconfig.
	Kubeconfig string
}

func (e *AlreadyUpError) Error() string {
	return fmt.Sprintf("the cluster %s is already up: use it (KUBECONFIG=%s), destroy it first, or choose another name", e.Name, e.Kubeconfig)
}

// NotUpError is the error of what needs a cluster that is up, for a name under which none is.
type NotUpError struct {
	// Name is the name of the cluster.
	Name string
}

func (e *NotUpError) Error() string {
	return fmt.Sprintf("no embedded cluster called %s is up: create it first", e.Name)
}

// Supervisor returns the supervisor of the cluster's processes; nil while the cluster is not up. The processes have the names of the
// components, such as [KubeAPIServer]. Other processes can run beside them.
func (p *Provider) Supervisor() *supervisor.Supervisor { return p.sup }

// AuditLog returns the path of the API server's audit log, which is known from Create on: one event of audit.k8s.io/v1 in JSON per
// line. An event is written when its request is done, which may be shortly after the client has the response.
func (p *Provider) AuditLog() string { return p.layout.auditLog() }

// SetDefaults returns the provider: [NewProvider] has set its defaults.
func (p *Provider) SetDefaults() support.E2EClusterProvider { return p }

// Name returns the cluster's name.
func (p *Provider) Name() string { return p.name }

// WithName sets the cluster's name, a DNS label that is unique per user and state directory. It has no effect on a provider that is
// [Attached] or [Borrowed].
func (p *Provider) WithName(name string) support.E2EClusterProvider {
	if !p.options.attached && p.options.borrow == nil {
		p.name = name
	}
	return p
}

// WithVersion sets the version of Kubernetes: [Version] or [PreviousVersion]. It has no effect on a provider that is [Attached] or
// [Borrowed].
func (p *Provider) WithVersion(version string) support.E2EClusterProvider {
	p.options.version = version
	return p
}

// Version returns the version of Kubernetes that the cluster runs, or will run once it is created.
func (p *Provider) Version() string {
	if p.sup == nil {
		return p.options.version
	}
	return p.layout.runs()
}

// WithPath sets the directory that holds the components' executables, instead of
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
	if p.options.borrow != nil {
		return p.attachBorrowed(ctx)
	}
	if err := p.create(ctx); err != nil {
		if up := new(AlreadyUpError); errors.As(err, &up) {
			return "", err
		}
		return "", fmt.Errorf("create the embedded cluster %s: %w", p.name, err)
	}
	return p.GetKubeconfig(), nil
}

// CreateWithConfig is [Provider.Create] for an empty configFile, and fails for any other: an embedded cluster has no configuration
// file.
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

// WaitForControlPlane waits until the API server is ready: it returns at once after Create, and after a while if the API server was
// killed since. The API server answers an administrator before that, but has not read all RBAC rules yet.
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

// Destroy stops the cluster of the provider's name, whichever program created it, with everything that its supervisor runs, and
// removes its directory. It does nothing if no such cluster is up, and cleans up after one whose processes were killed.
//
// A cluster that is [Attached] stays up; only what others run beside it is stopped. One that is [Borrowed] is given back.
func (p *Provider) Destroy(ctx context.Context) error {
	if p.options.attached {
		return p.leave(ctx)
	}
	if p.options.borrow != nil {
		return p.giveItBack()
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
