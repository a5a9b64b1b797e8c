package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/example/operator-testbed/e2e/cluster/internal/provider"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

func init() { supervisor.RegisterTask(lateCRDs, watchLateCRDs) }

// lateCRDs is the name of the task that makes the garbage collector learn CRDs
// that come after kube-controller-manager's start. By itself it looks for new
// kinds every 30 seconds only (pkg/controller/garbagecollector): until then,
// deleting an owner leaves what it owns.
const lateCRDs = "late-crds"

type lateCRDsArgs struct {
	Kubeconfig string `json:"kubeconfig"`
}

// quiet is how long no other CRD may have come before the restart: CRDs come
// in groups, and a restart takes a moment.
const quiet = 200 * time.Millisecond

// watchLateCRDs restarts kube-controller-manager when CRDs become Established
// that were not there when the task started.
func watchLateCRDs(ctx context.Context, s *supervisor.Server, raw json.RawMessage) error {
	var args lateCRDsArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return err
	}
	config, err := provider.RestConfig(args.Kubeconfig)
	if err != nil {
		return err
	}
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return err
	}
	known := establishedCRDs{}
	changes := make(chan struct{}, 1)
	changed := func() {
		select {
		case changes <- struct{}{}:
		default: // the one that waits there is as good
		}
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: crdWatch(client),
		ObjectType:    &apiextensionsv1.CustomResourceDefinition{},
		Handler: cache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(object any, initial bool) {
				if known.learn(object.(*apiextensionsv1.CustomResourceDefinition)) && !initial {
					changed()
				}
			},
			UpdateFunc: func(_, object any) {
				if known.learn(object.(*apiextensionsv1.CustomResourceDefinition)) {
					changed()
				}
			},
		},
	})
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return errors.New("the CRDs can't be listed")
	}
	if err := s.Started(nil); err != nil {
		return err
	}
	whenQuiet(ctx, changes, func() { restartControllerManager(ctx, s) })
	return nil
}

// whenQuiet calls do after each group of changes, until ctx is done.
func whenQuiet(ctx context.Context, changes <-chan struct{}, do func()) {
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-changes:
			due = time.After(quiet)
		case <-due:
			due = nil
			do()
		}
	}
}

// restartControllerManager restarts it if it runs. Whoever stopped it starts
// it again, and then it knows what there is.
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
