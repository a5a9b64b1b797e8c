package embedded

import (
	"context"
	"math"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/operator-testbed/e2e/cluster/internal/provider"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

func init() { supervisor.RegisterTask(lateCRDs, watchLateCRDs) }

// lateCRDs is the name of the task that makes the garbage collector discover CRDs that are installed after kube-controller-manager
// has started. On its own it looks for new kinds every 30 seconds only (pkg/controller/garbagecollector): until then, deleting an
// owner leaves what it owns.
const lateCRDs = "late-crds"

// quiet is how long no other CRD may have come before the restart: CRDs are installed in groups, and a restart takes time.
const quiet = 200 * time.Millisecond

// watchLateCRDs restarts kube-controller-manager when CRDs become Established
// that were not there when the task started.
func watchLateCRDs(ctx context.Context, s *supervisor.Server, kubeconfig string) error {
	config, err := provider.RestConfig(kubeconfig)
	if err != nil {
		return err
	}
	c, err := watch.NewClient(config)
	if err != nil {
		return err
	}
	known, listed := establishedCRDs{}, false
	restart := time.AfterFunc(math.MaxInt64, func() { restartControllerManager(ctx, s) })
	defer restart.Stop()
	for state, err := range watch.Follow(ctx, c, &apiextensionsv1.CustomResourceDefinitionList{}) {
		if err != nil {
			continue // the API server is down: it is asked again
		}
		for _, version := range state.New {
			if known.learn(version.Object.(*apiextensionsv1.CustomResourceDefinition)) && listed {
				restart.Reset(quiet)
			}
		}
		if !listed {
			listed = true
			if err := s.Started(nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// restartControllerManager restarts kube-controller-manager if it runs. One that was stopped discovers all CRDs when it is started
// again.
func restartControllerManager(ctx context.Context, s *supervisor.Server) {
	for _, p := range s.Status() {
		if p.Name != KubeControllerManager || p.State != supervisor.Running {
			continue
		}
		s.Logf("restart %s: there is a new CRD", p.Name)
		if err := s.Restart(ctx, p.Name); err != nil {
			s.Logf("%v", err)
		}
	}
}

// establishedCRDs are the CRDs seen in that state, by UID: one that is deleted
// and created again is new to the garbage collector.
type establishedCRDs map[types.UID]bool

// learn reports whether the CRD is Established and wasn't when last seen.
func (e establishedCRDs) learn(crd *apiextensionsv1.CustomResourceDefinition) bool {
	if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) || e[crd.UID] {
		return false
	}
	e[crd.UID] = true
	return true
}
