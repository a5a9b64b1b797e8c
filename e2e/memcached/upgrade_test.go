package memcached

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	k8stypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/mutant"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestUpgrade owns the operator. Deployments that it finds are of a build from before, which set one field more than it does.
func TestUpgrade(t *testing.T) {
	type cache struct {
		mc   *cachev1alpha1.Memcached
		pods []k8stypes.UID
	}
	feature := memcached.Feature("upgrade").
		WithLabel("contract", "2").
		WithLabel("disruptive", "operator").
		Setup(needsGo).
		Setup(ownOperator)
	steps := framework.Given(feature, func(context.Context, *framework.Scope) *cache { return &cache{} })
	for _, upgrade := range []struct {
		field, build string
		there        types.GomegaMatcher // the field, in a Deployment
		same         string              // what stays of the pods
		pods         func([]k8stypes.UID) types.GomegaMatcher
	}{
		{
			field: "the Deployment", build: "annotated",
			there: HaveField("Annotations", HaveKey("cache.example.com/before")),
			same:  "restarts no pod", pods: func(before []k8stypes.UID) types.GomegaMatcher { return ConsistOf(before) },
		},
		{
			field: "its pods' template", build: "with-a-variable",
			there: HaveField("Spec.Template.Spec.Containers", ConsistOf(HaveField("Env", ConsistOf(HaveField("Name", "BEFORE"))))),
			same:  "replaces all pods", pods: func(before []k8stypes.UID) types.GomegaMatcher {
				return And(HaveLen(len(before)), Not(ContainElement(BeElementOf(before))))
			},
		},
	} {
		steps.
			Assess("removes a field of "+upgrade.field+" that only the build before has set", func(ctx context.Context, s *framework.Scope, before *cache) {
				restart(ctx, s, earlier(ctx, s, upgrade.build))
				mc := create(ctx, s, s.NewName(upgrade.build), s.Size(2, 3))
				settled(ctx, s, mc)
				framework.WaitForObject(ctx, s, deploymentOf(mc), upgrade.there)
				*before = cache{mc, started(podsOf(ctx, s, mc))}
				restart(ctx, s)
				framework.WaitForObject(ctx, s, deploymentOf(mc), Not(upgrade.there))
			}).
			Assess("and "+upgrade.same, func(ctx context.Context, s *framework.Scope, before *cache) {
				settled(ctx, s, before.mc)
				barrier(ctx, s)
				framework.WaitForObjects(ctx, s, framework.ObjectsInput{
					List:    &corev1.PodList{},
					Options: []client.ListOption{client.InNamespace(s.Namespace), client.MatchingLabels{cachev1alpha1.LabelMemcachedUID: string(before.mc.UID)}},
					Matcher: WithTransform(neverRestarted, upgrade.pods(before.pods)),
				})
			})
	}
	steps.TestAlone(t)
}

// needsGo is the setup of a feature that compiles an earlier build, or Helm.
func needsGo(_ context.Context, s *framework.Scope) {
	s.Helper()
	s.NeedsGo()
}

// builds are the executables of earlier builds, by name. Features share them.
var builds struct {
	dir   string
	paths map[string]string
}

// earlier compiles the operator as it was before: as that patch in the directory builds makes it.
func earlier(ctx context.Context, s *framework.Scope, patch string) runner.Change {
	s.Helper()
	if builds.paths[patch] != "" {
		return runner.WithBinary(builds.paths[patch])
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		s.Fatal(err)
	}
	build := mutant.Mutant{Name: patch, Path: filepath.Join("builds", patch+".patch"), Files: []string{"operator/internal/controller/deployment.go"}}
	before, err := build.Apply(ctx, root, "operator/config", s.TempDir())
	if err != nil {
		s.Fatal(err)
	}
	if builds.dir == "" {
		if builds.dir, err = os.MkdirTemp("", "builds-"); err != nil {
			s.Fatal(err)
		}
		builds.paths = map[string]string{}
	}
	binary := filepath.Join(builds.dir, patch)
	if err := runner.Build(ctx, root, "./operator/cmd", binary, "-overlay="+before.Overlay); err != nil {
		s.Fatal(err)
	}
	builds.paths[patch] = binary
	return runner.WithBinary(binary)
}

// started are the pods by who they are.
func started(pods []corev1.Pod) []k8stypes.UID {
	var uids []k8stypes.UID
	for _, pod := range pods {
		uids = append(uids, pod.UID)
	}
	return uids
}

// neverRestarted are those pods none of whose containers has been started a second time.
func neverRestarted(objects []client.Object) []k8stypes.UID {
	var pods []corev1.Pod
	for _, object := range objects {
		pod := object.(*corev1.Pod)
		var restarts int32
		for _, status := range pod.Status.ContainerStatuses {
			restarts += status.RestartCount
		}
		if restarts == 0 {
			pods = append(pods, *pod)
		}
	}
	return started(pods)
}
