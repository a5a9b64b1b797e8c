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
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

const (
	// inUse is how many Memcacheds an upgrade finds.
	inUse = 100

	// fieldBefore is the annotation that only the last release sets.
	fieldBefore = "cache.example.com/before"
)

// installed is an operator that is installed in one of the ways that docs/upgrading.md shows.
type installed struct {
	operator *runner.Operator
	// upgrade replaces the last release by this one, downgrade does the opposite, and uninstall removes either.
	upgrade, downgrade, uninstall framework.Step
	// pods are those of the Memcacheds in use.
	pods []k8stypes.UID
	// since is from before the last upgrade or downgrade.
	since audit.Mark
}

// replace upgrades or downgrades the operator. It fails the test unless all Deployments, or none, have the field afterwards, the
// operator has made at most that many writes to each of them and none to anything else, and no pod has restarted.
func (i *installed) replace(ctx context.Context, s *framework.Scope, by framework.Step, there bool, writes int) {
	s.Helper()
	s = servedBy(s, i.operator)
	i.since = s.Mark()
	by(ctx, s)
	framework.WaitForObjects(ctx, s, framework.ObjectsInput{
		List:    &appsv1.DeploymentList{},
		Options: []client.ListOption{client.InNamespace(s.Namespace)},
		Matcher: WithTransform(byField, Equal(map[bool]int{there: inUse})),
	})
	barrier(ctx, s)
	framework.VerifyWrites(ctx, s, inUse*writes, s.Writes(i.since, notThe(canary)))
	framework.VerifyWrites(ctx, s, 0, s.Writes(i.since, notThe(canary), audit.Not(audit.Resource("deployments", ""))))
	framework.WaitForObjects(ctx, s, framework.ObjectsInput{
		List:    &corev1.PodList{},
		Options: []client.ListOption{client.InNamespace(s.Namespace), client.HasLabels{cachev1alpha1.LabelMemcachedUID}},
		Matcher: WithTransform(neverRestarted, ConsistOf(i.pods)),
	})
}

// TestUpgradeByInstaller owns the operator, which a newer install.yaml replaces, and the cluster, whose CustomResourceDefinition it
// replaces, too.
func TestUpgradeByInstaller(t *testing.T) {
	feature := memcached.Feature("upgrade by install.yaml").
		WithLabel("contract", "6").
		WithLabel("disruptive", "cluster")
	upgrade(feature, func(ctx context.Context, s *framework.Scope, before runner.Change) *installed {
		last, this := buildInstaller(ctx, s, "registry.example.com/operator:v1"), buildInstaller(ctx, s, "registry.example.com/operator:v2")
		for _, definition := range last.Select("CustomResourceDefinition") {
			makeEarlier(definition.Object)
		}
		s.Cleanup(func() { s.Reinstall(context.WithoutCancel(ctx)) })
		install := func(m manifest.Set, changes ...runner.Change) framework.Step {
			return func(ctx context.Context, s *framework.Scope) {
				if err := s.Operator.Install(ctx, m, changes...); err != nil {
					s.Fatal(err)
				}
			}
		}
		i := &installed{operator: s.Operator, upgrade: install(this), downgrade: install(last, before)}
		i.downgrade(ctx, s)
		return i
	}).TestAlone(t)
}

// TestUpgradeByHelm owns the operator, which makes way for a release of its chart, and the cluster, whose CustomResourceDefinition
// becomes one of the release. Helm installs everything, but no pods: the operator runs as a process, with the ServiceAccount of the
// release.
func TestUpgradeByHelm(t *testing.T) {
	const release = "upgraded"
	feature := memcached.Feature("upgrade by Helm").
		WithLabel("contract", "6").
		WithLabel("disruptive", "cluster")
	upgrade(feature, func(ctx context.Context, s *framework.Scope, before runner.Change) *installed {
		stop(ctx, s)
		passUnchecked(ctx, s) // there is no pod that webhooks could reach
		s.Cleanup(func() { s.Reinstall(context.WithoutCancel(ctx)) })
		home := anotherNamespace(ctx, s)
		h := buildHelm(ctx, s)
		run := func(ctx context.Context, s *framework.Scope, args ...string) {
			s.Helper()
			if _, err := h.Run(ctx, append(args, "--namespace="+home)...); err != nil {
				s.Fatal(err)
			}
		}
		s.Cleanup(func() { run(context.WithoutCancel(ctx), s, "uninstall", release, "--ignore-not-found") })
		values := []string{"--set=manager.replicas=0", "--set=webhook.enabled=false"}
		manager := func(chart string) manifest.Set {
			manifests, err := h.Template(ctx, chart, release, home, append(values, "--show-only=templates/manager.yaml")...)
			if err != nil {
				s.Fatal(err)
			}
			return manifests
		}
		last := earlierChart(s)
		// The CustomResourceDefinition of the suite becomes one of the release.
		run(ctx, s, append([]string{"install", release, last, "--take-ownership", "--force-conflicts"}, values...)...)
		operator, err := s.Operator.Beside(ctx, release, manager(last), before)
		if err != nil {
			s.Fatal(err)
		}
		end := func(ctx context.Context, s *framework.Scope) {
			if err := operator.Stop(ctx); err != nil {
				s.Error(err)
			}
		}
		s.Cleanup(func() { end(context.WithoutCancel(ctx), s) })
		restart := func(ctx context.Context, s *framework.Scope, chart string, changes ...runner.Change) {
			if err := operator.Install(ctx, manager(chart), changes...); err != nil {
				s.Fatal(err)
			}
		}
		tested := s.Operator.Binary()
		return &installed{
			operator: operator,
			upgrade: func(ctx context.Context, s *framework.Scope) {
				run(ctx, s, append([]string{"upgrade", release, chart, "--set=manager.image.tag=v2"}, values...)...)
				restart(ctx, s, chart, runner.WithBinary(tested))
			},
			downgrade: func(ctx context.Context, s *framework.Scope) {
				run(ctx, s, "rollback", release, "1")
				restart(ctx, s, last)
			},
			uninstall: func(ctx context.Context, s *framework.Scope) {
				end(ctx, s)
				run(ctx, s, "uninstall", release)
			},
		}
	}).
		Assess("uninstalling keeps the CustomResourceDefinition and all Memcacheds", func(ctx context.Context, s *framework.Scope, i *installed) {
			i.uninstall(ctx, s)
			g := NewWithT(s)
			definition := &apiextensionsv1.CustomResourceDefinition{}
			g.Expect(s.Client.Get(ctx, client.ObjectKey{Name: definitionName}, definition)).To(Succeed())
			g.Expect(definition.DeletionTimestamp).To(BeNil())
			left := &cachev1alpha1.MemcachedList{}
			g.Expect(s.Client.List(ctx, left, client.InNamespace(s.Namespace))).To(Succeed())
			g.Expect(left.Items).To(And(HaveLen(inUse), HaveEach(HaveField("DeletionTimestamp", BeNil()))))
		}).
		TestAlone(t)
}

// upgrade adds the steps of an upgrade to a feature: the last release, which set one field more and knew fewer columns, is replaced
// by this one while Memcacheds are in use, and comes back.
func upgrade(feature *framework.Feature, install func(ctx context.Context, s *framework.Scope, before runner.Change) *installed) *framework.FeatureOf[*installed] {
	return framework.Given(feature.Setup(needsGo).Setup(ownOperator), func(ctx context.Context, s *framework.Scope) *installed {
		s.NeedsSimulation("so many Memcacheds take a small machine too long")
		s.NeedsAudit()
		i := install(ctx, s, earlier(ctx, s, "annotated"))
		createMany(ctx, s, inUse)
		list := &corev1.PodList{}
		if err := s.Client.List(ctx, list, client.InNamespace(s.Namespace), client.HasLabels{cachev1alpha1.LabelMemcachedUID}); err != nil {
			s.Fatal(err)
		}
		i.pods = started(list.Items)
		barrier(ctx, servedBy(s, i.operator))
		return i
	}).
		Assess("removes one field of each Deployment, writes nothing else and restarts no pod", func(ctx context.Context, s *framework.Scope, i *installed) {
			// One more than the field needs: it is the first change of a Deployment since its creation.
			i.replace(ctx, s, i.upgrade, false, 2)
		}).
		Assess("updates the CustomResourceDefinition first", func(ctx context.Context, s *framework.Scope, i *installed) {
			framework.WaitForObject(ctx, s, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: definitionName}},
				HaveField("Spec.Versions", HaveEach(HaveField("AdditionalPrinterColumns", Not(BeEmpty())))))
			definitionFirst(s, i.since, i.operator.UserName())
		}).
		Assess("and back: the field is there again, and nothing else happens", func(ctx context.Context, s *framework.Scope, i *installed) {
			i.replace(ctx, s, i.downgrade, true, 1)
		})
}

// byField counts objects by whether they have the field that only the last release sets.
func byField(objects []client.Object) map[bool]int {
	counts := map[bool]int{}
	for _, object := range objects {
		_, there := object.GetAnnotations()[fieldBefore]
		counts[there]++
	}
	return counts
}

// definitionFirst fails the test unless the CustomResourceDefinition was written before the manager's Deployment, if that was
// written at all, and before the operator of that user read any Memcached as a process that has just started.
func definitionFirst(s *framework.Scope, since audit.Mark, operator string) {
	s.Helper()
	written := audit.All(audit.Writes, audit.Code(200), audit.Resource("customresourcedefinitions", ""), audit.About(definitionName))
	later := func(e *auditv1.Event) bool {
		return audit.All(audit.Writes, audit.Resource("deployments", ""))(e) && strings.HasSuffix(e.ObjectRef.Name, "controller-manager") ||
			audit.All(audit.ByUser(operator), audit.Resource("memcacheds", ""))(e) && e.Verb == "list"
	}
	events, err := s.Audit.Since(since, func(e *auditv1.Event) bool { return written(e) || later(e) })
	if err != nil {
		s.Fatal(err)
	}
	if len(events) < 2 || !written(&events[0]) || later(&events[0]) {
		s.Errorf("expected a write of the CustomResourceDefinition before the operator is replaced; last seen:\n%s", audit.Describe(events))
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
func earlierChart(s *framework.Scope) string {
	s.Helper()
	copied := filepath.Join(s.TempDir(), "chart")
	if err := os.CopyFS(copied, os.DirFS(chart)); err != nil {
		s.Fatal(err)
	}
	for file, edit := range map[string]func(map[string]any){
		"Chart.yaml":     func(metadata map[string]any) { metadata["version"] = "0.0.1" },
		"files/crd.yaml": makeEarlier,
	} {
		path := filepath.Join(copied, file)
		content, err := os.ReadFile(path)
		if err != nil {
			s.Fatal(err)
		}
		var object map[string]any
		if err := yaml.Unmarshal(content, &object); err != nil {
			s.Fatal(err)
		}
		edit(object)
		if content, err = yaml.Marshal(object); err == nil {
			err = os.WriteFile(path, content, 0o600)
		}
		if err != nil {
			s.Fatal(err)
		}
	}
	return copied
}
