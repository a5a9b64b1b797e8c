package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"

	"github.com/example/operator-testbed/e2e/cluster/internal/provider"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// starter brings one cluster up under its supervisor. The order was measured:
// the longest way is kube-apiserver's to /readyz, so everything that can be
// done meanwhile is, and what would only take the CPU from it waits.
type starter struct {
	options options
	name    string
	layout  layout
	assets  string
	crds    []*apiextensionsv1.CustomResourceDefinition
	sup     *supervisor.Supervisor
	store   string // the store to start with; empty: etcd begins with nothing

	ca     []byte
	users  map[string]user
	config *rest.Config // our own, once kube-apiserver has a port
}

// startLimit ends a start in which something hangs; a component that exits ends it
// at once. On an idle machine a start takes three seconds, on a busy one a hundred
// times as long.
const startLimit = 15 * time.Minute

func (s *starter) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("it was not ready within %v", startLimit))
	defer cancel()
	err := inOrder(ctx, s.prepare,
		s.running(Etcd), s.while(s.startAPI, Etcd), s.say("etcd and kube-apiserver started"),
		s.while(s.startEarly, Etcd, KubeAPIServer), s.say("kube-apiserver is ready"),
		s.running(KubeControllerManager), s.while(s.untilNodesReady, components...), s.say(fmt.Sprintf("%d nodes are Ready", s.options.nodes)),
		s.while(s.takeBaseline, components...),
	)
	if err != nil {
		return err
	}
	if s.options.detached {
		return s.sup.Detach(ctx)
	}
	return nil
}

// step is a part of a start.
type step = func(context.Context) error

// inOrder takes one step after the other, until one fails.
func inOrder(ctx context.Context, steps ...step) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *starter) say(line string) step {
	return func(context.Context) error {
		_, _ = fmt.Fprintln(s.options.progress, line) // who does not hear it still gets the cluster
		return nil
	}
}

// running starts a component.
func (s *starter) running(component string) step {
	return func(ctx context.Context) error { return s.run(ctx, component, 0) }
}

// while takes a step for as long as all of these components run.
func (s *starter) while(do step, components ...string) step {
	return func(ctx context.Context) error { return s.whileRunning(ctx, do, components...) }
}

func (s *starter) takeBaseline(ctx context.Context) error { return takeBaseline(ctx, s.layout) }

// prepare writes every file that the components read, except for the kubeconfigs:
// they hold the port.
func (s *starter) prepare(context.Context) error {
	keys, err := newPKI(time.Now())
	if err != nil {
		return err
	}
	s.ca, s.users = keys[caCert], newUsers()
	files := map[string][]byte{
		s.layout.tokens():      tokenFile(s.users),
		s.layout.auditPolicy(): auditPolicy,
		s.layout.stages():      stages(),
		s.layout.version():     []byte(s.options.version),
	}
	for name, data := range keys {
		files[s.layout.pki(name)] = data
	}
	for path, data := range files {
		if err := s.layout.write(path, data); err != nil {
			return err
		}
	}
	if err := os.Mkdir(s.layout.etcd(), 0o700); err != nil || s.store == "" {
		return err
	}
	return unpack(s.store, s.layout.etcdData())
}

// emulators are the components that can behave like an older version. If kube-scheduler did not, it would wait for kinds that an older
// kube-apiserver does not serve, and schedule nothing.
var emulators = []string{KubeAPIServer, KubeControllerManager, KubeScheduler}

func (s *starter) run(ctx context.Context, component string, port int) error {
	p := process(component, s.assets, s.layout, port)
	if s.options.emulated != "" && slices.Contains(emulators, component) {
		p.Args = append(p.Args, "--emulated-version="+s.options.emulated)
	}
	return s.sup.Run(ctx, p)
}

// portAttempts is how many ports are tried, should one be taken between
// finding it free and listening on it.
const portAttempts = 5

// startAPI starts kube-apiserver on a free port and returns when it answers.
func (s *starter) startAPI(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		port, err := s.options.port()
		if err != nil {
			return err
		}
		for component, user := range s.users {
			data, err := kubeconfig(s.name, s.ca, port, user)
			if err != nil {
				return err
			}
			if err := s.layout.write(s.layout.kubeconfigOf(component), data); err != nil {
				return err
			}
		}
		if s.config, err = provider.RestConfig(s.layout.kubeconfigOf(self)); err != nil {
			return err
		}
		if err := s.run(ctx, KubeAPIServer, port); err != nil {
			return err
		}
		err = s.whileRunning(ctx, func(ctx context.Context) error { return untilOK(ctx, s.config, "/version") }, KubeAPIServer)
		var end *endedError
		if !errors.As(err, &end) || !end.portTaken {
			return err
		}
		if err := s.sup.Stop(ctx, KubeAPIServer); err != nil {
			return err
		}
		if attempt == portAttempts {
			return fmt.Errorf("each of %d ports that were tried for %s was taken by somebody else, %d the last of them: try again", attempt, KubeAPIServer, port)
		}
	}
}

// startEarly does everything that an administrator may do long before the API server is ready, and returns when that is
// ready. kube-controller-manager has to wait until then: it asks only once a second whether the API server is healthy.
func (s *starter) startEarly(ctx context.Context) error {
	c, err := watch.NewClient(s.config)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return untilOK(ctx, s.config, "/readyz") })
	group.Go(func() error {
		if err := installCRDs(ctx, c, s.crds); err != nil {
			return err
		}
		// After these CRDs, which are not late, and before kube-controller-manager, so that it sees every CRD that one may have
		// missed.
		return s.sup.RunTask(ctx, lateCRDs, lateCRDs, s.layout.kubeconfigOf(self), nil)
	})
	group.Go(func() error { return createNodes(ctx, c, s.options.nodes) })
	for _, component := range []string{KubeScheduler, Kwok} {
		group.Go(func() error { return s.run(ctx, component, 0) })
	}
	return group.Wait()
}

// untilNodesReady waits until pods will be scheduled. The ServiceAccount that they run as is in the baseline.
func (s *starter) untilNodesReady(ctx context.Context) error {
	c, err := watch.NewClient(s.config)
	if err != nil {
		return err
	}
	return provider.WaitForNodes(ctx, c, s.options.nodes)
}

// whileRunning does something for as long as all of these components run. When
// one ends, the error is an *endedError.
func (s *starter) whileRunning(ctx context.Context, do func(context.Context) error, names ...string) error {
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, name := range names {
		go func() {
			exit, err := s.sup.Wait(watched, name)
			if err == nil {
				log, _ := os.ReadFile(s.sup.LogFile(name)) // no log: it said nothing
				dir := string(s.layout)
				err = ended(name, exit, filepath.Join(s.assets, name), dir, log, freeSpace(dir))
			}
			cancel(err)
		}()
	}
	err := do(watched)
	cause := context.Cause(watched)
	switch {
	case err == nil || cause == nil:
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && !errors.Is(err, cause):
		return fmt.Errorf("%w: %w", cause, err) // what it waited for says more
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return err
	default:
		return cause
	}
}
