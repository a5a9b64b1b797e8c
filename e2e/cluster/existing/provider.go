// Package existing is a cluster that somebody else brought up: any kubeconfig, only when asked for by name.
package existing

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/e2e-framework/klient"
	"sigs.k8s.io/e2e-framework/support"

	"github.com/example/operator-testbed/e2e/cluster/internal/provider"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// Kind is the name of this kind of cluster.
const Kind = "existing"

// Provider leads to an existing cluster. It implements e2e-framework's support.E2EClusterProvider; it creates and destroys
// nothing. It does not connect to the cluster before Create.
type Provider struct {
	kubeconfig, context string
	config              *rest.Config
	simulated           bool
}

var _ support.E2EClusterProvider = &Provider{}

// NewProvider returns a provider for the cluster that kubectl would take: that of the current context in $KUBECONFIG or
// ~/.kube/config.
func NewProvider() *Provider { return &Provider{} }

// RunsPods is false where kwok plays the nodes, as it does on an embedded cluster that somebody leads us to by its kubeconfig.
func (p *Provider) RunsPods() bool { return !p.simulated }

// SetDefaults returns the provider: it has its defaults from the start.
func (p *Provider) SetDefaults() support.E2EClusterProvider { return p }

// WithName has no effect: the cluster has its name.
func (p *Provider) WithName(string) support.E2EClusterProvider { return p }

// WithVersion has no effect: the cluster has its version.
func (p *Provider) WithVersion(string) support.E2EClusterProvider { return p }

// WithPath has no effect: no executable is needed.
func (p *Provider) WithPath(string) support.E2EClusterProvider { return p }

// WithOpts applies options; none is known for this kind.
func (p *Provider) WithOpts(opts ...support.ClusterOpts) support.E2EClusterProvider {
	return provider.WithOpts(p, opts)
}

// Create checks that the API server answers and that the cluster does not have another Memcached of somebody else's, and returns the
// path of the kubeconfig.
func (p *Provider) Create(ctx context.Context, _ ...string) (string, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil)
	raw, err := loader.RawConfig()
	if err == nil {
		p.kubeconfig, err = fileOf(raw)
	}
	if err != nil {
		return "", fmt.Errorf("use the existing cluster: %w", err)
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return "", fmt.Errorf("use the existing cluster: %w: set KUBECONFIG to its kubeconfig", err)
	}
	config.QPS = -1 // no limit of the client's own; the API server has its own
	if err := p.attach(ctx, raw.CurrentContext, config); err != nil {
		return "", fmt.Errorf("use the existing cluster %s: %w", config.Host, err)
	}
	return p.kubeconfig, nil
}

func (p *Provider) attach(ctx context.Context, current string, config *rest.Config) error {
	c, err := watch.NewClient(config)
	if err != nil {
		return err
	}
	crds, nodes := &apiextensionsv1.CustomResourceDefinitionList{}, &corev1.NodeList{}
	if err := errors.Join(c.List(ctx, crds), c.List(ctx, nodes)); err != nil {
		return err
	}
	if err := foreign(crds.Items); err != nil {
		return err
	}
	p.context, p.config = current, config
	// A node of kwok's says so where a kubelet gives its version.
	p.simulated = slices.ContainsFunc(nodes.Items, func(node corev1.Node) bool {
		return strings.HasPrefix(node.Status.NodeInfo.KubeletVersion, "kwok-")
	})
	return nil
}

// fileOf returns the file of the current context: kubectl merges the files that KUBECONFIG names, and suites have one. Without a context,
// a client would take the cluster of the pod that it runs in.
func fileOf(raw clientcmdapi.Config) (string, error) {
	if len(raw.Contexts) == 0 {
		return "", errors.New("there is no kubeconfig with a context: set KUBECONFIG to its kubeconfig")
	}
	current, ok := raw.Contexts[raw.CurrentContext]
	if !ok {
		return "", fmt.Errorf("its kubeconfig has the contexts %s, and none of them is the current one: choose it with kubectl config use-context NAME",
			strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", "))
	}
	file := current.LocationOfOrigin
	cluster, user := raw.Clusters[current.Cluster], raw.AuthInfos[current.AuthInfo]
	if cluster != nil && cluster.LocationOfOrigin != file || user != nil && user.LocationOfOrigin != file {
		return "", fmt.Errorf("its context %s is in %s, but not its cluster and its user: put all of them into one file with kubectl config view --flatten --minify",
			raw.CurrentContext, file)
	}
	return file, nil
}

// foreign refuses a cluster in which Memcached is a kind of somebody else's: the suites would test, and delete, what is theirs.
func foreign(crds []apiextensionsv1.CustomResourceDefinition) error {
	for _, crd := range crds {
		if crd.Spec.Names.Kind == "Memcached" && crd.Labels["app.kubernetes.io/part-of"] != "operator-testbed" {
			return fmt.Errorf("somebody else's CustomResourceDefinition %s is installed there: remove it, or use another cluster", crd.Name)
		}
	}
	return nil
}

// CreateWithConfig is Create for an empty configFile; there is no such file.
func (p *Provider) CreateWithConfig(ctx context.Context, configFile string) (string, error) {
	if configFile != "" {
		return "", errors.New("use the existing cluster: it takes no configuration file: leave it out")
	}
	return p.Create(ctx)
}

// GetKubeconfig returns the path of the kubeconfig.
func (p *Provider) GetKubeconfig() string { return p.kubeconfig }

// GenerateKubeconfig returns the path of the kubeconfig.
func (p *Provider) GenerateKubeconfig(...string) (string, error) { return p.kubeconfig, nil }

// GetKubectlContext returns the context in the kubeconfig; empty before Create.
func (p *Provider) GetKubectlContext() string { return p.context }

// ExportLogs does nothing: the cluster's logs are its owner's.
func (p *Provider) ExportLogs(context.Context, string) error { return nil }

// Destroy destroys nothing: the cluster is its owner's.
func (p *Provider) Destroy(context.Context) error { return nil }

// WaitForControlPlane does nothing: Create has had an answer.
func (p *Provider) WaitForControlPlane(context.Context, klient.Client) error { return nil }

// KubernetesRestConfig returns how the kubeconfig reaches the cluster; nil before Create.
func (p *Provider) KubernetesRestConfig() *rest.Config {
	return provider.Copy(p.config)
}
