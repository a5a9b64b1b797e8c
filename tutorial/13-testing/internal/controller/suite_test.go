package controller

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/13-testing/api/v1alpha1"
)

// patience is how long the suite waits for what only a fault keeps from coming.
const patience = time.Minute

var (
	testEnv   *envtest.Environment
	k8sClient client.Client
	ended     chan error
	cancel    context.CancelFunc
)

func TestControllers(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("needs an API server: set KUBEBUILDER_ASSETS to a directory that has etcd and kube-apiserver")
	}
	RegisterFailHandler(Fail)
	RunSpecs(t, "Controller Suite")
}

var _ = BeforeSuite(func() {
	logf.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	Expect(cachev1alpha1.AddToScheme(scheme.Scheme)).To(Succeed())
	testEnv = &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
		// The defaults, 10 and 20 seconds, are too short for a busy machine.
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: 5 * time.Minute},
		ControlPlaneStartTimeout: 5 * time.Minute,
		ControlPlaneStopTimeout:  5 * time.Minute,
	}
	config, err := testEnv.Start()
	Expect(err).NotTo(HaveOccurred())
	k8sClient, err = client.New(config, client.Options{Scheme: scheme.Scheme})
	Expect(err).NotTo(HaveOccurred())

	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme.Scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	Expect(err).NotTo(HaveOccurred())
	reconciler := &MemcachedReconciler{Client: manager.GetClient(), Recorder: manager.GetEventRecorder("memcached-controller"), Image: image}
	Expect(reconciler.SetupWithManager(manager)).To(Succeed())
	var ctx context.Context
	ctx, cancel = context.WithCancel(context.Background())
	ended = make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
})

var _ = AfterSuite(func() {
	if cancel != nil {
		cancel()
		Eventually(ended, patience).Should(Receive(Succeed()))
	}
	Expect(testEnv.Stop()).To(Succeed())
})

var _ = Describe("A Memcached", func() {
	// replicasOf returns how many replicas the Memcached's Deployment asks for.
	replicasOf := func(ctx SpecContext, mc *cachev1alpha1.Memcached) func() (*int32, error) {
		return func() (*int32, error) {
			deployment := &appsv1.Deployment{}
			err := k8sClient.Get(ctx, client.ObjectKeyFromObject(mc), deployment)
			return deployment.Spec.Replicas, err
		}
	}
	// conditionsOf returns the conditions of the Memcached.
	conditionsOf := func(ctx SpecContext, mc *cachev1alpha1.Memcached) func() ([]metav1.Condition, error) {
		return func() ([]metav1.Condition, error) {
			err := k8sClient.Get(ctx, client.ObjectKeyFromObject(mc), mc)
			return mc.Status.Conditions, err
		}
	}
	one := HaveValue(BeEquivalentTo(1))

	It("has a Deployment, which is repaired", func(ctx SpecContext) {
		mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "cache-"}}
		Expect(k8sClient.Create(ctx, mc)).To(Succeed())
		Expect(mc.Spec.Size).To(one, "the CRD's default")
		Eventually(replicasOf(ctx, mc), patience).Should(one)
		Eventually(conditionsOf(ctx, mc), patience).ShouldNot(BeEmpty())

		// Later ones have been reconciled, so nothing but the change below calls Reconcile for this one.
		for range 2 {
			later := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "later-"}}
			Expect(k8sClient.Create(ctx, later)).To(Succeed())
			Eventually(conditionsOf(ctx, later), patience).ShouldNot(BeEmpty())
		}
		deployment := &appsv1.Deployment{}
		Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(mc), deployment)).To(Succeed())
		Expect(metav1.IsControlledBy(deployment, mc)).To(BeTrue())
		before := deployment.DeepCopy()
		deployment.Spec.Replicas = new(int32(4))
		Expect(k8sClient.Patch(ctx, deployment, client.MergeFrom(before))).To(Succeed())
		Eventually(replicasOf(ctx, mc), patience).Should(one)
	})

	It("is not Available without pods", func(ctx SpecContext) {
		mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "cache-"}}
		Expect(k8sClient.Create(ctx, mc)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(mc), mc)).To(Succeed())
			g.Expect(mc.Status.Conditions).To(ContainElement(HaveField("Type", cachev1alpha1.ConditionAvailable)))
		}, patience).Should(Succeed())
		Expect(isTrue(mc.Status.Conditions, cachev1alpha1.ConditionAvailable)).To(BeFalse())
	})
})
