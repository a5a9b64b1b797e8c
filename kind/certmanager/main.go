// Command cert-manager runs the parts of cert-manager that a webhook needs: the controllers that issue self-signed certificates, and
// the CA injector. It runs as a process on this machine, as the user of $KUBECONFIG, until a signal stops it, or its cluster is taken down.
//
// cert-manager's own commands are in modules that no Go module proxy serves, and contain the SDKs of several clouds. Here, the same
// controllers run without cert-manager's webhook, which would only validate its resources more strictly.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	// Each of these packages registers a controller.
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
)

func main() {
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "cert-manager:", err)
		os.Exit(1)
	}
}

// run runs all controllers until the context is done or one of them fails.
func run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	if err := startIssuing(ctx, group); err != nil {
		return fmt.Errorf("start the controllers: %w", err)
	}
	if err := startInjecting(ctx, group); err != nil {
		return fmt.Errorf("start the CA injector: %w", err)
	}
	group.Go(func() error { return awaitEndOfCluster(ctx) })
	fmt.Fprintln(os.Stderr, "cert-manager: running; Ctrl-C stops it")
	return group.Wait()
}

// startIssuing starts the controllers for Issuers, Certificates and CertificateRequests.
func startIssuing(ctx context.Context, group *errgroup.Group) error {
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig: clientcmd.NewDefaultClientConfigLoadingRules().GetDefaultFilename(),
		CertificateOptions: controller.CertificateOptions{
			CertificateRequestMinimumBackoffDuration: time.Hour,
			CertificateRequestMaximumBackoffDuration: 32 * time.Hour,
		},
		IssuerOptions: controller.IssuerOptions{ClusterResourceNamespace: "cert-manager"},
	})
	if err != nil {
		return err
	}
	for name, construct := range controller.Known() {
		built, err := construct(factory)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		group.Go(func() error { return built.Run(1, ctx) })
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	return nil
}

// startInjecting starts the CA injector for webhook configurations and CustomResourceDefinitions.
func startInjecting(ctx context.Context, group *errgroup.Group) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	// The injector applies the authority as the field manager that its user agent names.
	config.UserAgent = "cert-manager-cainjector"
	types := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(scheme.AddToScheme, apiextensionsv1.AddToScheme, certmanagerv1.AddToScheme)
	if err := builder.AddToScheme(types); err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  types,
		Metrics: metricsserver.Options{BindAddress: "0"},
		// Only the metadata of Secrets is watched.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
	if err != nil {
		return err
	}
	err = cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{
		EnableCertificatesDataSource: true,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName:   true,
			cainjector.ValidatingWebhookConfigurationName: true,
			cainjector.CustomResourceDefinitionName:       true,
		},
	})
	if err != nil {
		return err
	}
	group.Go(func() error { return manager.Start(ctx) })
	return nil
}

// awaitEndOfCluster returns an error when the API server refuses several connections in a row, because then the cluster has been taken
// down. Otherwise, it returns nil when the context is done.
func awaitEndOfCluster(ctx context.Context) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	cluster, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	refused := 0
	stopped := wait.PollUntilContextCancel(ctx, 2*time.Second, true, func(ctx context.Context) (bool, error) {
		_, err := cluster.RESTClient().Get().AbsPath("/livez").DoRaw(ctx)
		if !utilnet.IsConnectionRefused(err) {
			refused = 0
			return false, nil
		}
		refused++
		return refused == 5, nil
	})
	if stopped != nil {
		return nil
	}
	return errors.New("the API server refuses connections: has the cluster been taken down?")
}
