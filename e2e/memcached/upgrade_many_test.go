package memcached

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8stypes "k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// inUse is how many Memcacheds an upgrade finds.
const inUse = 100

// installed is an operator that is installed in one of the ways that docs/upgrading.md shows.
type installed struct {
	*framework.Scope
	// upgrade replaces the last release by this one, and downgrade does the opposite.
	upgrade, downgrade func(ctx context.Context, t *testing.T)
}

// TestUpgradeByInstaller owns the operator, which a newer install.yaml replaces.
func TestUpgradeByInstaller(t *testing.T) {
	feature := features.New("upgrade by install.yaml").
		WithLabel("contract", "6").
		WithLabel("disruptive", "operator")
	memcached.TestAlone(t, upgrade(feature, func(ctx context.Context, t *testing.T, s *framework.Scope, before runner.Change) *installed {
		load := func(image string) runner.Manifests {
			manifests, err := runner.Load(buildInstaller(ctx, t, image))
			if err != nil {
				t.Fatal(err)
			}
			return manifests
		}
		last, this := load("registry.example.com/operator:v1"), load("registry.example.com/operator:v2")
		for _, definition := range last.Select("CustomResourceDefinition") {
			makeEarlier(definition.Object)
		}
		t.Cleanup(func() { s.Reinstall(context.WithoutCancel(ctx), t) })
		install := func(m runner.Manifests, changes ...runner.Change) func(context.Context, *testing.T) {
			return func(ctx context.Context, t *testing.T) {
				if err := s.Operator.Install(ctx, m, changes...); err != nil {
					t.Fatal(err)
				}
			}
		}
		i := &installed{Scope: s, upgrade: install(this), downgrade: install(last, before)}
		i.downgrade(ctx, t)
		return i
	}).Feature())
}

// TestUpgradeByHelm owns the operator, which makes way for a release of its chart. Helm installs everything, but no pods: the
// operator runs as a process, with the ServiceAccount of the release.
func TestUpgradeByHelm(t *testing.T) {
	const release = "upgraded"
	var uninstall func(ctx context.Context, t *testing.T)
	feature := features.New("upgrade by Helm").
		WithLabel("contract", "6").
		WithLabel("disruptive", "operator")
	memcached.TestAlone(t, upgrade(feature, func(ctx context.Context, t *testing.T, s *framework.Scope, before runner.Change) *installed {
		passUnjudged(ctx, t, s) // there is no pod that webhooks could reach
		t.Cleanup(func() { s.Reinstall(context.WithoutCancel(ctx), t) })
		stop(ctx, t, s)
		home := anotherNamespace(ctx, t, s)
		h := buildHelm(ctx, t, s)
		run := func(ctx context.Context, t *testing.T, args ...string) {
			t.Helper()
			if _, err := h.Run(ctx, append(args, "--namespace="+home)...); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { run(context.WithoutCancel(ctx), t, "uninstall", release, "--ignore-not-found") })
		values := []string{"--set=manager.replicas=0", "--set=webhook.enabled=false"}
		manager := func(chart string) runner.Manifests {
			manifests, err := h.Template(ctx, chart, release, home, append(values, "--show-only=templates/manager.yaml")...)
			if err != nil {
				t.Fatal(err)
			}
			return manifests
		}
		last := earlierChart(t)
		// The CustomResourceDefinition of the suite becomes one of the release.
		run(ctx, t, append([]string{"install", release, last, "--take-ownership", "--force-conflicts"}, values...)...)
		operator, err := s.Operator.Beside(ctx, release, manager(last), before)
		if err != nil {
			t.Fatal(err)
		}
		end := func(ctx context.Context, t *testing.T) {
			if err := operator.Stop(ctx); err != nil {
				t.Error(err)
			}
		}
		t.Cleanup(func() { end(context.WithoutCancel(ctx), t) })
		uninstall = func(ctx context.Context, t *testing.T) {
			end(ctx, t)
			run(ctx, t, "uninstall", release)
		}
		restart := func(ctx context.Context, t *testing.T, chart string, changes ...runner.Change) {
			if err := operator.Install(ctx, manager(chart), changes...); err != nil {
				t.Fatal(err)
			}
		}
		within := *s
		within.Operator = operator
		return &installed{
			Scope: &within,
			upgrade: func(ctx context.Context, t *testing.T) {
				run(ctx, t, append([]string{"upgrade", release, chart, "--set=manager.image.tag=v2"}, values...)...)
				restart(ctx, t, chart, runner.WithBinary(s.Operator.Binary()))
			},
			downgrade: func(ctx context.Context, t *testing.T) {
				run(ctx, t, "rollback", release, "1")
				restart(ctx, t, last)
			},
		}
	}).
		Assess("uninstalling keeps the CustomResourceDefinition and all Memcacheds", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			uninstall(ctx, t)
			g := NewWithT(t)
			definition := &apiextensionsv1.CustomResourceDefinition{}
			g.Expect(s.Client.Get(ctx, client.ObjectKey{Name: definitionName}, definition)).To(Succeed())
			g.Expect(definition.DeletionTimestamp).To(BeNil())
			left := &cachev1alpha1.MemcachedList{}
			g.Expect(s.Client.List(ctx, left, client.InNamespace(s.Namespace))).To(Succeed())
			g.Expect(left.Items).To(And(HaveLen(inUse), HaveEach(HaveField("DeletionTimestamp", BeNil()))))
		})).
		Feature())
}

// upgrade adds the steps of an upgrade to a feature: the last release, which set one field more and knew fewer columns, is replaced
// by this one while Memcacheds are in use, and comes back.
func upgrade(feature *features.FeatureBuilder, install func(ctx context.Context, t *testing.T, s *framework.Scope, before runner.Change) *installed) *features.FeatureBuilder {
	const field = "cache.example.com/before"
	var (
		i    *installed
		pods []k8stypes.UID
		mark audit.Mark
	)
	// change replaces the operator, and sees that it writes so often to each Deployment, until all have the field or none has, and
	// does nothing else.
	change := func(ctx context.Context, t *testing.T, replace func(context.Context, *testing.T), there bool, writes int) {
		t.Helper()
		mark = i.Mark(t)
		replace(ctx, t)
		i.Expect(t).Objects(ctx, &appsv1.DeploymentList{}, WithTransform(holding(field), Equal(map[bool]int{there: inUse})), client.InNamespace(i.Namespace))
		barrier(ctx, t, i.Scope)
		i.Expect(t).AtMost(inUse*writes, i.Writes(mark, notThe(canary)))
		i.Expect(t).AtMost(0, i.Writes(mark, notThe(canary), audit.Not(audit.Resource("deployments", ""))))
		i.Expect(t).Objects(ctx, &corev1.PodList{}, WithTransform(neverRestarted, ConsistOf(pods)),
			client.InNamespace(i.Namespace), client.HasLabels{cachev1alpha1.LabelMemcachedUID})
	}
	return feature.
		Setup(framework.Step(ownOperator)).
		Setup(framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			s.NeedsSimulation(t, "so many Memcacheds take a small machine too long")
			s.NeedsAudit(t)
			i = install(ctx, t, s, earlier(ctx, t, "annotated"))
			createMany(ctx, t, i.Scope, inUse)
			list := &corev1.PodList{}
			if err := s.Client.List(ctx, list, client.InNamespace(s.Namespace), client.HasLabels{cachev1alpha1.LabelMemcachedUID}); err != nil {
				t.Fatal(err)
			}
			pods = started(list.Items)
			barrier(ctx, t, i.Scope)
		})).
		Assess("removes one field of each Deployment, writes nothing else and restarts no pod", framework.Step(func(ctx context.Context, t *testing.T, _ *framework.Scope) {
			// One more than the field needs: it is the first change of a Deployment since its creation.
			change(ctx, t, i.upgrade, false, 2)
		})).
		Assess("updates the CustomResourceDefinition first", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			s.Expect(t).Object(ctx, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: definitionName}},
				HaveField("Spec.Versions", HaveEach(HaveField("AdditionalPrinterColumns", Not(BeEmpty())))))
			definitionFirst(t, s, mark, i.Operator.UserName())
		})).
		Assess("and back: the field is there again, and nothing else happens", framework.Step(func(ctx context.Context, t *testing.T, _ *framework.Scope) {
			change(ctx, t, i.downgrade, true, 1)
		}))
}

// holding returns a function that counts objects by whether they have an annotation.
func holding(annotation string) func([]client.Object) map[bool]int {
	return func(objects []client.Object) map[bool]int {
		counts := map[bool]int{}
		for _, object := range objects {
			_, there := object.GetAnnotations()[annotation]
			counts[there]++
		}
		return counts
	}
}

// definitionFirst fails the test unless the CustomResourceDefinition was written before the manager's Deployment, if that was
// written at all, and before the operator of that user read any Memcached as a process that has just started.
func definitionFirst(t *testing.T, s *framework.Scope, since audit.Mark, operator string) {
	t.Helper()
	written := audit.All(audit.Writes, audit.Code(200), audit.Resource("customresourcedefinitions", ""), audit.About(definitionName))
	later := func(e *auditv1.Event) bool {
		return audit.All(audit.Writes, audit.Resource("deployments", ""))(e) && strings.HasSuffix(e.ObjectRef.Name, "controller-manager") ||
			audit.All(audit.ByUser(operator), audit.Resource("memcacheds", ""))(e) && e.Verb == "list"
	}
	events, err := s.Audit.Since(since, func(e *auditv1.Event) bool { return written(e) || later(e) })
	if err != nil {
		t.Fatal(err)
	}
	if len(events) < 2 || !written(&events[0]) || later(&events[0]) {
		t.Errorf("expected a write of the CustomResourceDefinition before the operator is replaced; last seen:\n%s", audit.Describe(events))
	}
}

// definitionName is the name of the operator's CustomResourceDefinition.
const definitionName = "memcacheds.cache.example.com"

// makeEarlier changes a CustomResourceDefinition into that of the last release, which had no columns of its own.
func makeEarlier(definition map[string]any) {
	versions, _, _ := unstructured.NestedSlice(definition, "spec", "versions")
	for _, version := range versions {
		delete(version.(map[string]any), "additionalPrinterColumns")
	}
	_ = unstructured.SetNestedSlice(definition, versions, "spec", "versions")
}

// earlierChart returns the chart as it was in the last release.
func earlierChart(t *testing.T) string {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "chart")
	if err := os.CopyFS(copied, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	for file, edit := range map[string]func(map[string]any){
		"Chart.yaml":     func(metadata map[string]any) { metadata["version"] = "0.0.1" },
		"files/crd.yaml": makeEarlier,
	} {
		path := filepath.Join(copied, file)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := yaml.Unmarshal(content, &object); err != nil {
			t.Fatal(err)
		}
		edit(object)
		if content, err = yaml.Marshal(object); err == nil {
			err = os.WriteFile(path, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return copied
}
