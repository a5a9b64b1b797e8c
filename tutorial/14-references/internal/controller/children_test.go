package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	accorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/14-references/api/v1alpha1"
)

// controlledBy are the owner references of an object that a Memcached with that UID controls.
func controlledBy(uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: cachev1alpha1.GroupVersion.String(), Kind: "Memcached", Name: "cache", UID: uid, Controller: new(true),
	}}
}

func TestClaim(t *testing.T) {
	mc := memcachedOfSize(1)
	for name, test := range map[string]struct {
		owners []metav1.OwnerReference
		labels map[string]string
		taken  bool
	}{
		"controlled by it":                    {controlledBy(mc.UID), nil, false},
		"controlled by another, and labeled":  {controlledBy("5678"), podLabels(mc), true},
		"without a controller, and labeled":   {nil, podLabels(mc), false},
		"without a controller, other label":   {nil, map[string]string{labelMemcachedUID: "5678"}, true},
		"without a controller, without label": {nil, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
				Namespace: mc.Namespace, Name: mc.Name, Labels: test.labels, OwnerReferences: test.owners,
			}}
			err := newReconciler(t, service).claim(t.Context(), mc, service)
			if !test.taken {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring("cache")))
			g.Expect(reasonOf(err)).To(Equal(cachev1alpha1.ReasonNameTaken))
		})
	}
}

func TestPruneDeletesOnlyWhatItsMemcachedControls(t *testing.T) {
	g := NewWithT(t)
	mc := memcachedOfSize(1)
	mc.Spec.ClientConfigMapName = "wanted"
	configMap := func(name string, owners []metav1.OwnerReference) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: mc.Namespace, Name: name, Labels: podLabels(mc), OwnerReferences: owners,
		}}
	}
	reconciler := newReconciler(t, configMap("wanted", controlledBy(mc.UID)), configMap("unwanted", controlledBy(mc.UID)),
		configMap("unowned", nil), configMap("of-another", controlledBy("5678")))
	g.Expect(reconciler.prune(t.Context(), mc)).To(Succeed())
	left := &corev1.ConfigMapList{}
	g.Expect(reconciler.List(t.Context(), left)).To(Succeed())
	g.Expect(left.Items).To(HaveExactElements(HaveField("Name", "of-another"), HaveField("Name", "unowned"), HaveField("Name", "wanted")))
}

// TestTwoWriters shows what remains of a port that a monitoring team has added to the Service.
func TestTwoWriters(t *testing.T) {
	mc := memcachedOfSize(1)
	for name, test := range map[string]struct {
		write func(*MemcachedReconciler) error
		ports []string
	}{
		"CreateOrUpdate replaces the list": {func(r *MemcachedReconciler) error {
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name}}
			_, err := controllerutil.CreateOrUpdate(t.Context(), r.Client, service, func() error {
				service.Spec.Ports = []corev1.ServicePort{{Name: "memcached", Port: 11211, Protocol: corev1.ProtocolTCP}}
				return nil
			})
			return err
		}, []string{"memcached"}},
		"apply changes its own entry": {func(r *MemcachedReconciler) error {
			return r.Apply(t.Context(), desiredService(mc), fieldManager, client.ForceOwnership)
		}, []string{"metrics", "memcached"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			reconciler := newReconciler(t)
			monitoring := accorev1.Service(mc.Name, mc.Namespace).WithSpec(accorev1.ServiceSpec().WithPorts(
				accorev1.ServicePort().WithName("metrics").WithPort(9150).WithProtocol(corev1.ProtocolTCP)))
			g.Expect(reconciler.Apply(t.Context(), monitoring, client.FieldOwner("monitoring"))).To(Succeed())
			g.Expect(test.write(reconciler)).To(Succeed())
			service := &corev1.Service{}
			g.Expect(reconciler.Get(t.Context(), client.ObjectKeyFromObject(mc), service)).To(Succeed())
			var ports []string
			for _, port := range service.Spec.Ports {
				ports = append(ports, port.Name)
			}
			g.Expect(ports).To(ConsistOf(test.ports))
		})
	}
}
