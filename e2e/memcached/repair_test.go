package memcached

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	acappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// vandal is the field manager of who damages a Deployment.
const vandal = client.FieldOwner("vandal")

func TestRepair(t *testing.T) {
	framework.Given(memcached.Feature("repair").WithLabel("contract", "2"), created(1, 2)).
		Setup(settled).
		Assess("the replicas", also(portable.Replicas)).
		Assess("the image", also(portable.Image)).
		Assess("the security context", also(portable.SecurityContext)).
		Assess("the owner", also(portable.Owner)).
		Assess("what it has created so far, by an apply", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			damage(ctx, s, mc, fmt.Sprintf(`{"spec":{"replicas":%d}}`, s.Size(3, 5))) // for the operator to apply what it has only created so far
			framework.WaitForObject(ctx, s, deploymentOf(mc), HaveField("Spec.Replicas", HaveValue(Equal(*mc.Spec.Size))))
			settled(ctx, s, mc)
		}).
		// The list of fields is what the operator has applied. The API server says which damage is legal.
		Assess("every field that the operator owns", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			healthy := deploymentOf(mc)
			framework.WaitForObject(ctx, s, healthy, Not(BeNil()))
			owned, err := ownedFields(healthy)
			if err != nil {
				s.Fatal(err)
			}
			content, err := contentOf(healthy)
			if err != nil {
				s.Fatal(err)
			}
			beyondDamage := []string{}
			for _, path := range slices.Sorted(maps.Keys(owned)) {
				f := owned[path]
				changed := vandalize(ctx, s, healthy, fields{path: f}, damages(content, f)...)
				if changed {
					framework.WaitForObject(ctx, s, deploymentOf(mc), haveAll(owned))
				}
				removed := vandalize(ctx, s, healthy, fields{path: f}, without(content, f))
				if removed {
					framework.WaitForObject(ctx, s, deploymentOf(mc), haveAll(owned))
				}
				if !changed && !removed {
					beyondDamage = append(beyondDamage, path)
				}
			}
			s.Logf("%d fields", len(owned))
			spread := func(domain string) string {
				return fmt.Sprintf(`.spec.template.spec.topologySpreadConstraints[topologyKey=%q,whenUnsatisfiable="ScheduleAnyway"].whenUnsatisfiable`, domain)
			}
			NewWithT(s).Expect(beyondDamage).To(ConsistOf(
				// The selector of an existing Deployment is immutable.
				".spec.selector",
				".spec.template.metadata.labels.cache.example.com/memcached-uid",
				// This is a part of the element's key, and no other value but DoNotSchedule is legal. With that, it is another element,
				// which the operator leaves alone, and which may keep pods pending.
				spread(corev1.LabelHostname),
				spread(corev1.LabelTopologyZone),
			))
			settled(ctx, s, mc)
		}).
		Assess("what an earlier version of the operator set and this one doesn't", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			made := deploymentOf(mc)
			framework.WaitForObject(ctx, s, made, Not(BeNil()))
			earlier, err := acappsv1.ExtractDeployment(made, cachev1alpha1.FieldManager)
			if err != nil {
				s.Fatal(err)
			}
			earlier.WithLabels(map[string]string{"example.com/earlier": "label"})
			earlier.WithAnnotations(map[string]string{cachev1alpha1.AnnotationFieldsHash: "earlier"})
			earlier.Spec.WithMinReadySeconds(1)
			earlier.Spec.Template.Spec.WithPriorityClassName("system-node-critical")
			if err := s.Client.Apply(ctx, earlier, client.FieldOwner(cachev1alpha1.FieldManager), client.ForceOwnership); err != nil {
				s.Fatal(err)
			}
			framework.WaitForObject(ctx, s, made, And(
				HaveField("Labels", Not(HaveKey("example.com/earlier"))),
				HaveField("Annotations", HaveKeyWithValue(cachev1alpha1.AnnotationFieldsHash, Not(Equal("earlier")))),
				HaveField("Spec.MinReadySeconds", BeZero()),
				HaveField("Spec.Template.Spec.PriorityClassName", BeEmpty()),
			))
			settled(ctx, s, mc)
		}).
		Assess("but not what others add", also(portable.ForeignFields)).
		Assess("a Deployment that was deleted", also(portable.DeletedDeployment)).
		Test(t)
}

// damage changes the Deployment of mc the way kubectl patch does.
func damage(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, patch string) {
	s.Helper()
	if err := s.Client.Patch(ctx, deploymentOf(mc), client.RawPatch(types.StrategicMergePatchType, []byte(patch)), vandal); err != nil {
		s.Fatalf("damaging the Deployment %s: %v", mc.Name, err)
	}
}

// vandalize does the first of the damages to the Deployment that the API server takes and that changes any of the fields. It
// returns false when there is none.
func vandalize(ctx context.Context, s *framework.Scope, healthy *appsv1.Deployment, target fields, damages ...*unstructured.Unstructured) bool {
	s.Helper()
	for _, damaged := range damages {
		data, err := client.MergeFrom(healthy).Data(damaged)
		if err != nil {
			s.Fatal(err)
		}
		patch := client.RawPatch(types.MergePatchType, data)
		tried := &appsv1.Deployment{ObjectMeta: *healthy.ObjectMeta.DeepCopy()}
		err = s.Client.Patch(ctx, tried, patch, vandal, client.DryRunAll)
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			continue
		}
		if err != nil {
			s.Fatalf("trying to damage the Deployment %s by %s: %v", healthy.Name, data, err)
		}
		changed, err := target.changedIn(tried)
		if err != nil {
			s.Fatal(err)
		}
		if len(changed) == 0 {
			continue // an equal value, or what the API server defaults to
		}
		if err := s.Client.Patch(ctx, tried, patch, vandal); err != nil {
			s.Fatalf("damaging the Deployment %s by %s: %v", healthy.Name, data, err)
		}
		return true
	}
	return false
}

// TestTwoInANamespace shows that two Memcacheds share no pod: each selector carries its owner's UID.
func TestTwoInANamespace(t *testing.T) {
	memcached.Feature("two in a namespace").
		WithLabel("contract", "4").
		Assess("have pods of their own", portable.Selectors).
		Test(t)
}
