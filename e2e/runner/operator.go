// Package runner runs the operator under test. How it runs belongs to the operator, not to the cluster: as a process it
// runs on the host, on every kind of cluster, and is nobody but its own ServiceAccount, so RBAC is enforced as in a pod.
package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/supervisor"
)

// Options say which operator to run, and where.
type Options struct {
	// Name names the process and its log. It is unique in a supervisor.
	Name string
	// Config is how an administrator reaches the cluster.
	Config *rest.Config
	// Supervisor runs the process and ends it at the latest with itself.
	Supervisor *supervisor.Supervisor
	// Manifests install the operator; the manager's Deployment says with which arguments, environment and
	// ServiceAccount the process runs.
	Manifests Manifests
	// Binary is the operator's executable.
	Binary string
	// Args and Env come behind what the manifests say, and so prevail.
	Args []string
	Env  []string
}

// Operator is a running operator.
type Operator struct {
	options Options
	manager Manager
	health  string // host:port
}

// workloads are the kinds that make an operator run as an image, or lead to it when it does; as a process it needs neither.
var workloads = []string{"Deployment", "Service"}

// Start installs the operator's manifests, but for the workload, starts the process and waits until it is ready.
// Custom resource definitions among the manifests must already be established.
func Start(ctx context.Context, o Options) (*Operator, error) {
	manager, err := o.Manifests.Manager()
	if err != nil {
		return nil, err
	}
	admin, err := client.New(o.Config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	if err := Apply(ctx, admin, o.Manifests.Without(append(slices.Clone(workloads), "CustomResourceDefinition")...)); err != nil {
		return nil, err
	}
	operator := &Operator{options: o, manager: manager}
	if err := Kubeconfig(ctx, o.Config, manager.ServiceAccount, operator.kubeconfig()); err != nil {
		return nil, err
	}
	if err := operator.start(ctx); err != nil {
		return nil, err
	}
	return operator, nil
}

// UserName is who the operator is to the API server; the audit log names it so.
func (o *Operator) UserName() string { return o.manager.UserName() }

// LogFile is the file that the operator's output goes to.
func (o *Operator) LogFile() string { return o.options.Supervisor.LogFile(o.options.Name) }

// Stop asks the process to end, as a kubelet does (SIGTERM, then SIGKILL after a grace period), and waits until it has.
func (o *Operator) Stop(ctx context.Context) error {
	return o.options.Supervisor.Stop(ctx, o.options.Name)
}

// Kill ends the process at once, as a failing node does (SIGKILL). It stays down until Restart.
func (o *Operator) Kill(ctx context.Context) error {
	return o.options.Supervisor.Kill(ctx, o.options.Name)
}

// Change is a change in how the operator runs.
type Change func(*Options)

// WithEnv adds variables ("NAME=value") that prevail over what the operator has.
func WithEnv(env ...string) Change {
	return func(o *Options) { o.Env = append(slices.Clone(o.Env), env...) }
}

// WithArgs adds arguments behind what the operator has.
func WithArgs(args ...string) Change {
	return func(o *Options) { o.Args = append(slices.Clone(o.Args), args...) }
}

// WithBinary runs another executable: an upgrade.
func WithBinary(path string) Change {
	return func(o *Options) { o.Binary = path }
}

// Restart stops the process, if it still runs, and starts it with the changes, which last until the next Restart: one without
// changes runs the operator as it was first started.
func (o *Operator) Restart(ctx context.Context, changes ...Change) error {
	if err := o.Stop(ctx); err != nil {
		return err
	}
	changed := &Operator{options: o.options, manager: o.manager}
	for _, change := range changes {
		change(&changed.options)
	}
	err := changed.start(ctx)
	o.health = changed.health
	return err
}

// kubeconfig is kept beside the log, so that it goes when the supervisor's folder does.
func (o *Operator) kubeconfig() string {
	return filepath.Join(filepath.Dir(o.LogFile()), "..", "operators", o.options.Name+".kubeconfig")
}

func (o *Operator) start(ctx context.Context) error {
	var err error
	if o.health, err = freeAddress(); err != nil {
		return fmt.Errorf("finding a free port for the operator %s: %w", o.options.Name, err)
	}
	process := supervisor.Process{
		Name: o.options.Name,
		Path: o.options.Binary,
		Args: slices.Concat(o.manager.Args, []string{"--health-probe-bind-address=" + o.health}, o.options.Args),
		Env:  slices.Concat(os.Environ(), o.manager.Env, []string{"KUBECONFIG=" + o.kubeconfig()}, o.options.Env),
		// What a kubelet would give it: the manager's terminationGracePeriodSeconds in kubebuilder's layout.
		Grace: 10 * time.Second,
	}
	if err := o.options.Supervisor.Run(ctx, process); err != nil {
		return fmt.Errorf("starting the operator %s: %w", o.options.Name, err)
	}
	return o.ready(ctx)
}

const (
	// readyTimeout bounds the wait for the operator's readiness probe to succeed.
	readyTimeout = 60 * time.Second
	// readyPoll is how often the probe is made: a probe is asked, as a kubelet does it; there is nothing to watch.
	readyPoll = 20 * time.Millisecond
)

// ready waits until the readiness probe succeeds or the process has ended.
func (o *Operator) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("no success within %s", readyTimeout))
	defer cancel()
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_, _ = o.options.Supervisor.Wait(ctx, o.options.Name) // ends by the process's exit or by ctx, which are told apart below
	}()
	for {
		if probe(ctx, "http://"+o.health+"/readyz") {
			return nil
		}
		select {
		case <-exited:
			if ctx.Err() == nil {
				return fmt.Errorf("the operator %s ended before it was ready: %s", o.options.Name, o.lastWords())
			}
			return o.notReady(ctx)
		case <-ctx.Done():
			return o.notReady(ctx)
		case <-time.After(readyPoll):
		}
	}
}

func (o *Operator) notReady(ctx context.Context) error {
	return fmt.Errorf("the operator %s is not ready: %w: %s", o.options.Name, context.Cause(ctx), o.lastWords())
}

func probe(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// lastWords returns the last line of the operator's log, which says what ails it, and where the rest is.
func (o *Operator) lastWords() string {
	content, err := os.ReadFile(o.LogFile())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	return fmt.Sprintf("%s (log: %s)", lines[len(lines)-1], o.LogFile())
}

// freeAddress returns a loopback address that is free now. Another process may take the port before the operator does; it
// then says so and ends.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
