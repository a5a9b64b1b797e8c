package e2e

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/15-versions/api/v1alpha1"
	cachev1beta1 "github.com/example/operator-testbed/tutorial/15-versions/api/v1beta1"
)

// pair is one Memcached that was created in the old version, and one that was created in the new one.
type pair struct {
	older *cachev1alpha1.Memcached
	newer *cachev1beta1.Memcached
}

// both creates a pair.
func both(ctx context.Context, s *framework.Scope) pair {
	s.Helper()
	return pair{createOld(ctx, s, s.Port()), createNew(ctx, s)}
}

func TestBothVersions(t *testing.T) {
	const limit = cachev1alpha1.AnnotationMaxConnections
	framework.Given(stage.Feature("two versions").Setup(ready), both).
		Assess("an old object reads right in the new version", func(ctx context.Context, s *framework.Scope, p pair) {
			g, converted := NewWithT(s), asNew(ctx, s, p.older)
			g.Expect(converted.Spec).To(Equal(cachev1beta1.MemcachedSpec{
				Replicas: p.older.Spec.Size, Network: cachev1beta1.Network{Port: p.older.Spec.ContainerPort},
			}), "expected what the old object was created with")
			g.Expect(asOld(ctx, s, p.older).Spec).To(Equal(p.older.Spec))
		}).
		Assess("a new object reads right in the old version", func(ctx context.Context, s *framework.Scope, p pair) {
			g, converted := NewWithT(s), asOld(ctx, s, p.newer)
			g.Expect(converted.Spec).To(Equal(cachev1alpha1.MemcachedSpec{Size: p.newer.Spec.Replicas, ContainerPort: p.newer.Spec.Network.Port}),
				"expected what the new object was created with")
			g.Expect(converted.Annotations).To(HaveKeyWithValue(limit, strconv.Itoa(int(*p.newer.Spec.Network.MaxConnections))))
			original := asNew(ctx, s, p.newer)
			g.Expect(original.Spec).To(Equal(p.newer.Spec))
			g.Expect(original.Annotations).NotTo(HaveKey(limit), "expected the annotation only in the old version")
		}).
		Assess("the operator serves both", func(ctx context.Context, s *framework.Scope, p pair) {
			settled(ctx, s, asNew(ctx, s, p.older), *p.older.Spec.Size)
			settled(ctx, s, p.newer, *p.newer.Spec.Replicas)
			framework.WaitForObject(ctx, s, deploymentOf(p.newer), HaveField("Spec.Template.Spec.Containers", HaveExactElements(
				HaveField("Args", ContainElements("-c", strconv.Itoa(int(*p.newer.Spec.Network.MaxConnections)))))))
			older, newer := asOldAndNew(ctx, s, p.newer)
			NewWithT(s).Expect(older.Status.Nodes).To(HaveLen(int(*p.newer.Spec.Replicas)), "expected old clients to see the status")
			NewWithT(s).Expect(cachev1beta1.MemcachedStatus(older.Status)).To(Equal(newer.Status))
		}).
		Assess("an old client changes a new object, and loses nothing", func(ctx context.Context, s *framework.Scope, p pair) {
			size := s.Size(3, 5)
			if err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
				seen := asOld(ctx, s, p.newer)
				seen.Spec.Size = &size
				return s.Client.Update(ctx, seen)
			}); err != nil {
				s.Fatal(err)
			}
			want := p.newer.Spec.DeepCopy()
			want.Replicas = &size
			NewWithT(s).Expect(asNew(ctx, s, p.newer).Spec).To(Equal(*want), "expected an old client to change the size and nothing else")
			settled(ctx, s, p.newer, size)
		}).
		Assess("what makes no sense is dropped, and breaks no request", func(ctx context.Context, s *framework.Scope, p pair) {
			patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+limit+`":"many"}}}`))
			if err := s.Client.Patch(ctx, p.older, patch); err != nil {
				s.Fatalf("expected an annotation that is not a number to be dropped; last seen: %v", err)
			}
			NewWithT(s).Expect(asOld(ctx, s, p.older).Annotations).NotTo(HaveKey(limit))
			for _, list := range []client.ObjectList{&cachev1alpha1.MemcachedList{}, &cachev1beta1.MemcachedList{}} {
				NewWithT(s).Expect(s.Client.List(ctx, list, client.InNamespace(s.Namespace))).To(Succeed())
			}
		}).
		Test(t)
}

// warnings collects what the API server warns of.
type warnings struct {
	mu   sync.Mutex
	text []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

// warned returns the warnings about requests.
func warned(s *framework.Scope, requests func(client.Client)) string {
	s.Helper()
	var seen warnings
	config := rest.CopyConfig(s.Config)
	config.WarningHandler = &seen
	c, err := client.New(config, client.Options{Scheme: s.Client.Scheme()})
	NewWithT(s).Expect(err).NotTo(HaveOccurred())
	requests(c)
	return strings.Join(seen.text, "; ")
}

func TestDeprecated(t *testing.T) {
	framework.Given(stage.Feature("deprecation").Setup(ready), both).
		Assess("warns those who use the old version, and no others", func(ctx context.Context, s *framework.Scope, p pair) {
			g := NewWithT(s)
			g.Expect(warned(s, func(c client.Client) {
				g.Expect(c.Get(ctx, client.ObjectKeyFromObject(p.older), &cachev1alpha1.Memcached{})).To(Succeed())
			})).To(ContainSubstring("use cache.example.com/v1beta1"), "expected a warning about v1alpha1")
			g.Expect(warned(s, func(c client.Client) {
				g.Expect(c.Get(ctx, client.ObjectKeyFromObject(p.older), &cachev1beta1.Memcached{})).To(Succeed())
			})).To(BeEmpty(), "expected no warning about v1beta1")
		}).
		Test(t)
}

// privileged is a port that v1alpha1 allows and v1beta1 does not.
const privileged = 80

func TestRatcheting(t *testing.T) {
	framework.Given(stage.Feature("a rule that only the new version has").Setup(ready), func(ctx context.Context, s *framework.Scope) *cachev1alpha1.Memcached {
		s.Helper()
		return createOld(ctx, s, privileged)
	}).
		Assess("leaves an object that breaks it in service", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			NewWithT(s).Expect(asNew(ctx, s, mc).Spec.Network.Port).To(HaveValue(BeEquivalentTo(privileged)))
			settled(ctx, s, mc, *mc.Spec.Size) // the operator writes the status as v1beta1
		}).
		Assess("lets new clients change other fields", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			size := s.Size(3, 5)
			before := asNew(ctx, s, mc)
			after := before.DeepCopy()
			after.Spec.Replicas = &size
			NewWithT(s).Expect(s.Client.Patch(ctx, after, client.MergeFrom(before))).To(Succeed())
			settled(ctx, s, after, size)
		}).
		Assess("holds for what new clients write", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			before := asNew(ctx, s, mc)
			changed := before.DeepCopy()
			changed.Spec.Network.Port = new(int32(privileged + 1))
			created := &cachev1beta1.Memcached{Spec: *before.Spec.DeepCopy()}
			created.Namespace, created.Name = s.Namespace, s.NewName("another")
			for _, err := range []error{s.Client.Patch(ctx, changed, client.MergeFrom(before)), s.Client.Create(ctx, created)} {
				NewWithT(s).Expect(apierrors.IsInvalid(err)).To(BeTrue(), "expected Invalid; last seen: %v", err)
				NewWithT(s).Expect(err).To(MatchError(ContainSubstring("spec.network.port")))
			}
		}).
		Test(t)
}
