package runner

import (
	"net"
	"os"
	"slices"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/loopback"
)

// addresses are where a replica listens, each a host:port; empty means not at all.
type addresses struct {
	health, metrics, webhook string
	// fixed says that the process listens at webhook whatever its flags say.
	fixed bool
}

const (
	// metricsFlag is what kubebuilder calls the flag of the metrics' address.
	metricsFlag = "metrics-bind-address"
	// healthFlag is what kubebuilder calls the flag of the probes' address.
	healthFlag = "health-probe-bind-address"
)

// chooseAddresses finds free addresses for what a replica has to serve. Its webhooks have no choice if fixedPort is not empty.
func chooseAddresses(m manifest.Manager, webhook bool, fixedPort string) (addresses, error) {
	at := addresses{fixed: fixedPort != ""}
	wanted := []*string{&at.health}
	if value, ok := manifest.FlagValue(m.Args, metricsFlag); ok && value != "0" {
		wanted = append(wanted, &at.metrics)
	}
	switch {
	case webhook && at.fixed:
		at.webhook = net.JoinHostPort("127.0.0.1", fixedPort)
	case webhook:
		wanted = append(wanted, &at.webhook)
	}
	return at, freeAddresses(wanted...)
}

// freeAddresses sets each to another loopback address that is free now. Another process may take the port before the operator
// does, which then says so and ends: see [Replica.run].
func freeAddresses(addresses ...*string) error {
	var held []net.Listener // until all are found, so that none is found twice
	defer func() {
		for _, listener := range held {
			listener.Close()
		}
	}()
	for _, address := range addresses {
		listener, err := loopback.Listen()
		if err != nil {
			return err
		}
		held = append(held, listener)
		*address = listener.Addr().String()
	}
	return nil
}

// process says how a replica runs. It gets only those flags that the manifests call for, and the one for the address of its probes, unless it
// has none.
func process(name string, o Options, m manifest.Manager, kubeconfig string, at addresses) supervisor.Process {
	var flags []string
	if at.health != "" {
		flags = append(flags, "--"+healthFlag+"="+at.health)
	}
	if at.metrics != "" {
		flags = append(flags, "--"+metricsFlag+"="+at.metrics)
	}
	env := []string{"KUBECONFIG=" + kubeconfig}
	switch {
	case at.webhook != "" && !at.fixed:
		flags = append(flags, "--"+manifest.WebhookAddressFlag+"="+at.webhook)
	case at.webhook == "":
		// Or all replicas would serve, at one and the same port, what nobody calls.
		env = append(env, "ENABLE_WEBHOOKS=false")
	}
	return supervisor.Process{
		Name:  name,
		Path:  o.Binary,
		Args:  slices.Concat(m.Args, flags, o.Args),
		Env:   slices.Concat(m.Env, env, o.Env),
		Grace: gracePeriod, Traceable: o.traceable,
	}
}

// process says how the replica runs, with those options. The caller's own operator has the caller's environment below its own; every
// other one is confined.
func (r *Replica) process(o Options) (supervisor.Process, error) {
	if r.operator.InPods() {
		return r.podProcess(o)
	}
	at := r.at
	if r.operator.unprobed.Load() {
		at.health = ""
	}
	p := process(r.name, o, r.operator.manager, r.operator.kubeconfig(), at)
	if !o.Own {
		return r.confine(p, o)
	}
	p.Env = slices.Concat(os.Environ(), p.Env)
	return p, nil
}
