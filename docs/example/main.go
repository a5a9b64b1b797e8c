// Command isolation is a small operator of another project: it gives each namespace with the label example.com/isolated=true a
// NetworkPolicy that denies all ingress.
package main

import (
	"context"
	"errors"
	"flag"
	"os"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func main() {
	probeAddress := flag.String("health-probe-bind-address", ":8081", "The address of /healthz and /readyz.")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(*probeAddress); err != nil {
		ctrl.Log.Error(err, "The manager failed")
		os.Exit(1)
	}
}

// run runs the operator until it gets SIGTERM or SIGINT.
func run(probeAddress string) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		HealthProbeBindAddress: probeAddress,
		Metrics:                metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	itsNamespace := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, policy client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: policy.GetNamespace()}}}
	})
	return errors.Join(
		ctrl.NewControllerManagedBy(manager).
			For(&corev1.Namespace{}).
			Watches(&networkingv1.NetworkPolicy{}, itsNamespace).
			Complete(&isolator{manager.GetClient()}),
		manager.AddHealthzCheck("ping", healthz.Ping),
		manager.AddReadyzCheck("ping", healthz.Ping),
		manager.Start(ctrl.SetupSignalHandler()),
	)
}

// isolator isolates namespaces.
type isolator struct{ client.Client }

// Reconcile applies the policy of a namespace that asks for one.
func (i *isolator) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var namespace corev1.Namespace
	if err := i.Get(ctx, request.NamespacedName, &namespace); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if namespace.Labels["example.com/isolated"] != "true" || !namespace.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	policy := networkingv1ac.NetworkPolicy("deny-ingress", namespace.Name).WithSpec(networkingv1ac.NetworkPolicySpec().
		WithPodSelector(metav1ac.LabelSelector()).
		WithPolicyTypes(networkingv1.PolicyTypeIngress))
	return ctrl.Result{}, i.Apply(ctx, policy, client.FieldOwner("isolation"), client.ForceOwnership)
}
