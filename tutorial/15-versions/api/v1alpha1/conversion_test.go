package v1alpha1_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/randfill"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/15-versions/api/v1alpha1"
	cachev1beta1 "github.com/example/operator-testbed/tutorial/15-versions/api/v1beta1"
)

// rounds is how many random objects are converted there and back.
const rounds = 1000

// random fills objects with random values. Every third pointer, slice or map is nil. The seed is fixed, so that what fails once fails again.
func random() *randfill.Filler {
	return randfill.NewWithSeed(1).NilChance(1.0/3).NumElements(1, 3).Funcs(
		// An object has annotations or none, but no empty map after it was sent through JSON.
		func(meta *metav1.ObjectMeta, c randfill.Continue) {
			meta.Name = c.String(20)
			c.Fill(&meta.Labels)
			c.Fill(&meta.Annotations)
		},
		// The field that v1alpha1 keeps in an annotation is validated before it is converted.
		func(network *cachev1beta1.Network, c randfill.Continue) {
			c.FillNoCustom(network)
			if network.MaxConnections != nil {
				*network.MaxConnections = 1 + c.Int31()%65536
			}
		},
	)
}

// The fields of the objects are filled by reflection, so a field that is added to one version later is in this test, too.
func TestNothingIsLostOnTheWayFromTheHubAndBack(t *testing.T) {
	g, filler := NewWithT(t), random()
	for range rounds {
		before, spoke, after := &cachev1beta1.Memcached{}, &cachev1alpha1.Memcached{}, &cachev1beta1.Memcached{}
		filler.Fill(before)
		before.TypeMeta = metav1.TypeMeta{} // the webhook sets it
		original := before.DeepCopy()
		g.Expect(spoke.ConvertFrom(before)).To(Succeed())
		g.Expect(spoke.ConvertTo(after)).To(Succeed())
		g.Expect(after).To(Equal(original))
		g.Expect(before).To(Equal(original), "expected a conversion to leave the object that it reads as it is")
	}
}

func TestNothingIsLostOnTheWayToTheHubAndBack(t *testing.T) {
	g, filler := NewWithT(t), random()
	for range rounds {
		before, hub, after := &cachev1alpha1.Memcached{}, &cachev1beta1.Memcached{}, &cachev1alpha1.Memcached{}
		filler.Fill(before)
		before.TypeMeta = metav1.TypeMeta{}
		original := before.DeepCopy()
		g.Expect(before.ConvertTo(hub)).To(Succeed())
		g.Expect(after.ConvertFrom(hub)).To(Succeed())
		g.Expect(after).To(Equal(original))
		g.Expect(before).To(Equal(original), "expected a conversion to leave the object that it reads as it is")
	}
}

// A user may write anything into an annotation.
func TestAnnotationThatIsNotANumberIsDropped(t *testing.T) {
	for _, value := range []string{"", "many", "0", "-1", "65537", "99999999999"} {
		t.Run(value, func(t *testing.T) {
			g, hub := NewWithT(t), &cachev1beta1.Memcached{}
			spoke := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{cachev1alpha1.AnnotationMaxConnections: value, "note": "kept"}}}
			g.Expect(spoke.ConvertTo(hub)).To(Succeed())
			g.Expect(hub.Annotations).To(Equal(map[string]string{"note": "kept"}))
			g.Expect(hub.Spec.Network.MaxConnections).To(BeNil())
		})
	}
}
