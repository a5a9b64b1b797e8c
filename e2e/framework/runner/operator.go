// Package runner runs the operator under test. How it runs belongs to the operator, not to the cluster: as a process it
// runs on the host, on every kind of cluster, and authenticates as its own ServiceAccount, so RBAC is enforced as in a pod.
//
// The API server calls the operator's webhooks if it reaches this machine: see [Options.Webhooks].
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/framework/runner/internal/forwarder"
)

// Options say which operator to run, and where.
type Options struct {
	// Name names the process and its log. It is unique in a supervisor.
	Name string
	// Config is how an administrator reaches the cluster.
	Config *rest.Config
	// Supervisor runs the process. The process does not outlive it.
	Supervisor *supervisor.Supervisor
	// Manifests install the operator; the manager's Deployment says with which arguments, environment and
	// ServiceAccount the process runs.
	Manifests manifest.Set
	// Binary is the operator's executable, unless it runs in pods.
	Binary string
	// InPods, if it is not nil, runs the operator in pods.
	InPods *InPods
	// Own says that the executable was built from the caller's own tree. It runs with all that the caller may do, and with the caller's
	// environment. An executable from anywhere else is confined, as Confinement says.
	Own         bool
	Confinement Confinement
	// Replicas is how many processes run; zero means one.
	Replicas int
	// Webhooks says that the cluster's API server reaches this machine at Address. Then the webhook configurations among
	// the manifests are installed, and their Service leads to the replicas; so does that of webhooks which convert objects from one
	// version of a CustomResourceDefinition to another. Each gets its own --webhook-bind-address if the manager's
	// arguments have that flag; otherwise there can be only one, at the Service's target port.
	// Where the manager expects a certificate that somebody else makes (see [manifest.Manager]), the configurations and definitions trust it.
	// Otherwise the configurations are left out. An operator whose webhooks nobody calls, for this or because its manifests have none,
	// runs with ENABLE_WEBHOOKS=false.
	Webhooks bool
	// Address is an address of this machine. Empty means 127.0.0.1.
	Address string
	// Args and Env come after what the manifests say, and so take precedence.
	Args []string
	Env  []string
	// Evidence makes a directory for the log of a process that has not become ready when Start fails, and returns its path. The log
	// itself is removed with the supervisor's directory, which may be before anyone can read it. Nil means that no copy is kept.
	Evidence func() (string, error)

	// traceable and notAwaited are for Traceable and NotAwaited.
	traceable, notAwaited bool
}

// Operator is a running operator: one replica or several. It is not safe for concurrent use.
type Operator struct {
	options  Options
	manager  manifest.Manager
	admin    client.Client
	served   bool   // it has webhooks that the API server calls
	fixedAt  string // is the port of its webhooks; empty if a flag sets it
	port     int64  // of the forwarder to them; zero while there is none
	replicas []*Replica
	logs     []string   // the names of all processes that there have been
	moving   sync.Mutex // held by a replica that chooses other ports while others start
	// unprobed says that the executable has no flag for the address of its probes, so it is ready when it runs.
	unprobed atomic.Bool
	// deployable is what an operator in pods is deployed with.
	deployable manifest.Set
}

// Start installs the operator's manifests, except for the workload, starts the replicas with the changes and waits until they are
// ready. A CustomResourceDefinition of the manifests that is there already is left as it is; the others are installed first.
func Start(ctx context.Context, o Options, changes ...Change) (*Operator, error) {
	o = o.with(changes)
	if _, err := o.manager(); err != nil {
		return nil, err
	}
	admin, err := client.New(o.Config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	if err := install.MissingCRDs(ctx, o.Config, o.Manifests); err != nil {
		return nil, err
	}
	operator := &Operator{options: o, admin: admin}
	if err := operator.install(ctx); err != nil {
		return nil, err
	}
	for range max(o.Replicas, 1) {
		operator.newReplica()
	}
	if err := operator.start(ctx); err != nil {
		return nil, errors.Join(o.keepLog(err), operator.RemoveWebhooks(context.WithoutCancel(ctx)))
	}
	return operator, nil
}

// Install restarts the operator as other manifests install it, with the changes: an upgrade, or the way back. What only the last
// ones have stays, as after `kubectl apply`.
func (o *Operator) Install(ctx context.Context, m manifest.Set, changes ...Change) error {
	if err := o.Stop(ctx); err != nil {
		return err
	}
	if err := install.CRDs(ctx, o.options.Config, m); err != nil {
		return err
	}
	o.options.Manifests = m
	if err := o.install(ctx); err != nil {
		return err
	}
	return o.start(ctx, changes...)
}

// install applies the manifests, except for the workload and what the CustomResourceDefinitions say besides how to call webhooks, and
// makes the kubeconfig of their ServiceAccount.
func (o *Operator) install(ctx context.Context) error {
	if o.InPods() {
		return o.installForPods(ctx)
	}
	m := o.options.Manifests
	manager, err := o.options.manager()
	if err != nil {
		return err
	}
	o.manager = manager
	authority, err := o.provideCertificate()
	if err != nil {
		return err
	}
	objects := m.WithoutWebhooks()
	if o.served = o.options.Webhooks && len(m.WebhookServices()) > 0; o.served {
		if o.fixedAt, err = m.FixedPort(); err != nil {
			return err
		}
		if o.port == 0 {
			if o.port, err = forwarder.Start(ctx, o.options.Supervisor, o.forwarder(), o.options.address()); err != nil {
				return err
			}
		}
		objects = m.WithWebhooksAt(o.options.address(), o.port, authority)
	}
	if err := install.Apply(ctx, o.admin, objects); err != nil {
		return err
	}
	if o.served {
		if err := install.CRDs(ctx, o.options.Config, m.ConversionsAt(o.port, authority)); err != nil {
			return err
		}
	}
	return Kubeconfig(ctx, o.options.Config, manager.ServiceAccount, o.kubeconfig())
}

// Beside starts another operator with the same executable, as other manifests install it, with the changes. name is its name, as in
// [Options].
func (o *Operator) Beside(ctx context.Context, name string, m manifest.Set, changes ...Change) (*Operator, error) {
	options := o.options
	options.Name, options.Manifests = name, m
	return Start(ctx, options, changes...)
}

// UserName returns the name of the operator's user in the API server and its audit log.
func (o *Operator) UserName() string { return o.manager.UserName() }

// Binary returns the path of the executable with which the operator was first started.
func (o *Operator) Binary() string { return o.options.Binary }

// Replicas returns the operator's processes, in the order of their names. The first one has the name of the operator.
func (o *Operator) Replicas() []*Replica { return slices.Clone(o.replicas) }

// LogFile returns the path of the log of the first replica.
func (o *Operator) LogFile() string { return o.replicas[0].LogFile() }

// LogFiles returns the paths of the logs of all processes that there have been, those of replicas that were removed included.
func (o *Operator) LogFiles() []string {
	var files []string
	for _, name := range o.logs {
		files = append(files, o.options.Supervisor.LogFile(name))
	}
	return files
}

// MetricsAddress returns the host:port of the first replica's metrics; empty if the manifests enable none.
func (o *Operator) MetricsAddress() string { return o.replicas[0].MetricsAddress() }

// AddReplica starts one more replica, with the changes, and waits until it is ready. They last until its next Restart.
func (o *Operator) AddReplica(ctx context.Context, changes ...Change) (*Replica, error) {
	replica := o.newReplica()
	if err := replica.start(ctx, changes...); err != nil {
		return nil, errors.Join(err, replica.Remove(context.WithoutCancel(ctx)))
	}
	return replica, nil
}

// Stop stops every replica as a kubelet does (SIGTERM, then SIGKILL after a grace period), and waits until they have exited.
func (o *Operator) Stop(ctx context.Context) error { return o.stop(ctx, o.replicas...) }

// stop stops replicas, and withdraws their endpoints a while after the signal, as Kubernetes does: also where they exit earlier.
func (o *Operator) stop(ctx context.Context, replicas ...*Replica) error {
	for _, replica := range replicas {
		process, found, err := o.options.Supervisor.Find(ctx, replica.name)
		if err != nil {
			return err
		}
		replica.leaving = found && process.State == supervisor.Running
	}
	defer func() {
		for _, replica := range replicas {
			replica.leaving, replica.withdrawn = false, false
		}
	}()
	if err := o.settle(ctx); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- o.each(ctx, func(r *Replica, ctx context.Context) error {
			if !slices.Contains(replicas, r) {
				return nil
			}
			return r.end(ctx)
		})
	}()
	withdrawn := make(chan struct{})
	go func() {
		defer close(withdrawn)
		withdrawal()
	}()
	select {
	case err := <-ended:
		ended <- err
		// Where requests could go to another replica, those that come too late for this one must fail, however fast it exits.
		if o.served && slices.ContainsFunc(o.replicas, func(r *Replica) bool { return r.serving && !r.leaving }) {
			<-withdrawn
		}
	case <-withdrawn:
		for _, replica := range replicas {
			replica.withdrawn = true
		}
		if err := o.settle(ctx); err != nil {
			return errors.Join(err, <-ended)
		}
	}
	err := <-ended
	for _, replica := range replicas {
		replica.serving = false
	}
	return errors.Join(o.settle(ctx), err)
}

// Kill kills every replica, as failing nodes do (SIGKILL). They stay down until [Operator.Restart].
func (o *Operator) Kill(ctx context.Context) error {
	if err := o.each(ctx, (*Replica).crash); err != nil {
		return err
	}
	return o.settle(ctx)
}

// Restart stops every replica, if it still runs, and starts it with the changes, which last until the next Restart: one
// without changes runs the operator as it was first started.
func (o *Operator) Restart(ctx context.Context, changes ...Change) error {
	if err := o.Stop(ctx); err != nil {
		return err
	}
	return o.start(ctx, changes...)
}

// start starts every replica.
func (o *Operator) start(ctx context.Context, changes ...Change) error {
	for _, replica := range o.replicas {
		if err := replica.choosePorts(); err != nil {
			return err
		}
	}
	if err := o.settle(ctx); err != nil {
		return err
	}
	return o.each(ctx, func(r *Replica, ctx context.Context) error { return r.run(ctx, changes...) })
}

// each does something to all replicas at once.
func (o *Operator) each(ctx context.Context, do func(*Replica, context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, replica := range o.replicas {
		group.Go(func() error { return do(replica, ctx) })
	}
	return group.Wait()
}

// kubeconfig is kept beside the logs, so that it goes when the supervisor's directory does.
func (o *Operator) kubeconfig() string {
	return filepath.Join(o.options.Supervisor.Dir(), "operators", o.options.Name+".kubeconfig")
}

// certificates is the directory of what provideCertificate makes.
func (o *Operator) certificates() string {
	return filepath.Join(o.options.Supervisor.Dir(), "operators", o.options.Name+".files")
}

// Change is a change of how the operator runs, such as [WithEnv].
type Change func(*Options)

// address returns the address of this machine where the API server calls webhooks.
func (o Options) address() string {
	return cmp.Or(o.Address, "127.0.0.1") // not localhost, which may be ::1 as well
}

// manager returns what the manifests say about the manager.
func (o Options) manager() (manifest.Manager, error) {
	if o.InPods != nil {
		return o.Manifests.ManagerInPods()
	}
	return o.Manifests.Manager()
}

// with returns the options with the changes made.
func (o Options) with(changes []Change) Options {
	for _, change := range changes {
		change(&o)
	}
	return o
}

// WithEnv adds variables ("NAME=value") that take precedence over those that the operator has.
func WithEnv(env ...string) Change {
	return func(o *Options) { o.Env = append(slices.Clone(o.Env), env...) }
}

// WithArgs adds arguments after those that the operator has.
func WithArgs(args ...string) Change {
	return func(o *Options) { o.Args = append(slices.Clone(o.Args), args...) }
}

// WithBinary runs another executable: an upgrade.
func WithBinary(path string) Change {
	return func(o *Options) { o.Binary = path }
}

// Traceable is a [Change] that lets a debugger attach to the process, if it is the caller's own.
func Traceable(o *Options) { o.traceable = true }

// NotAwaited is a [Change] that makes a start return as soon as the process runs, ready or not.
func NotAwaited(o *Options) { o.notAwaited = true }
