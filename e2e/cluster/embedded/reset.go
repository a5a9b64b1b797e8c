package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"
)

// resetLimit ends a reset in which something hangs. On an idle machine it takes a
// fraction of a second, or about two where a component was broken.
const resetLimit = 10 * time.Minute

// Reset returns a used cluster to the state in which [Provider.Create] returned it, and verifies that: it stops what others run under
// the cluster's supervisor, such as operators and the forwarders of their webhooks; it starts components that do not run; it deletes
// every object that was added since, whatever its finalizers, and restores every other; and it empties the audit log.
//
// CustomResourceDefinitions stay as they are, but their objects are deleted. Creating a CustomResourceDefinition again would restart
// kube-controller-manager, so install another version by updating it in place.
//
// The error names what could not be undone.
func (p *Provider) Reset(ctx context.Context) error {
	if p.sup == nil {
		return fmt.Errorf("reset: %w", &NotUpError{Name: p.name})
	}
	ctx, cancel := context.WithTimeoutCause(ctx, resetLimit, fmt.Errorf("it took longer than %v", resetLimit))
	defer cancel()
	if err := p.reset(ctx, keepKinds); err != nil {
		return fmt.Errorf("reset the embedded cluster %s: %w", p.name, err)
	}
	return nil
}

// reset does the work of Reset, with what else is to be done about CustomResourceDefinitions.
func (p *Provider) reset(ctx context.Context, kinds kinds) error {
	baseline, err := readBaseline(p.layout)
	if err != nil {
		return err
	}
	if err := p.endOthers(ctx); err != nil {
		return err
	}
	processes, err := p.sup.Status(ctx)
	if err != nil {
		return err
	}
	etcd, touched, stopped := newEtcdClient(p.layout.etcd()), map[string]bool{}, outlived(processes)
	stays := staysAfterReset
	if kinds.replace {
		stopped = withControllerManager(stopped)
		stays = staysAfterRenewal
		maps.DeleteFunc(baseline, func(key string, _ stored) bool { return strings.HasPrefix(key, crdKeys) })
	}
	clean := func(ctx context.Context) error { return p.clean(ctx, etcd, baseline, touched, stays) }
	return inOrder(ctx,
		p.running(processes, Etcd), etcd.untilUp,
		func(ctx context.Context) error { return p.stop(ctx, stopped) },
		unlessKept(kinds, func(ctx context.Context) error { return p.sup.StopTask(ctx, lateCRDs) }),
		// Before kube-apiserver is asked: a webhook may keep it from becoming ready.
		func(ctx context.Context) error {
			_, _, err := cleanStore(ctx, etcd, baseline, touched, stays)
			return err
		},
		p.running(processes, KubeAPIServer),
		func(ctx context.Context) error { return untilOK(ctx, p.config, "/readyz") },
		clean,
		func(ctx context.Context) error {
			sentinels := sentinelsOf(touched)
			if len(sentinels)+len(stopped) == 0 {
				return nil
			}
			return inOrder(ctx, p.admissionForgets(sentinels), unlessKept(kinds, func(ctx context.Context) error {
				stays = staysAfterReset // for the last clean
				return p.install(ctx, kinds.crds, touched)
			}), p.restart(stopped), clean)
		},
		// kube-apiserver appends to it, so what it is just writing is written whole.
		func(context.Context) error { return os.Truncate(p.AuditLog(), 0) },
	)
}

// StopOthers stops what others run under the cluster's supervisor, such as operators and the forwarders of their webhooks.
func (p *Provider) StopOthers(ctx context.Context) error {
	if p.sup == nil {
		return fmt.Errorf("stop what runs beside it: %w", &NotUpError{Name: p.name})
	}
	if err := p.endOthers(ctx); err != nil {
		return fmt.Errorf("stop what runs beside the embedded cluster %s: %w", p.name, err)
	}
	return nil
}

// endOthers ends what runs under the supervisor and is not part of the cluster.
func (p *Provider) endOthers(ctx context.Context) error {
	tasks, err := p.sup.Tasks(ctx)
	if err != nil {
		return err
	}
	for _, task := range tasks {
		if task != lateCRDs {
			err = errors.Join(err, p.sup.StopTask(ctx, task))
		}
	}
	processes, failed := p.sup.Status(ctx)
	err = errors.Join(err, failed)
	for _, process := range processes {
		if !isComponent(process.Name) {
			err = errors.Join(err, p.sup.Remove(ctx, process.Name))
		}
	}
	return err
}

// clean undoes what was changed since the baseline, until kube-apiserver sees
// that and etcd still holds nothing else: a controller that was about to write
// may still do so. It adds the keys that it has changed to touched.
func (p *Provider) clean(ctx context.Context, etcd etcdClient, baseline contents, touched map[string]bool, stays stays) error {
	for changed := true; changed; {
		revision, _, err := cleanStore(ctx, etcd, baseline, touched, stays)
		if err == nil {
			err = p.catchUp(ctx, revision, touched)
		}
		if err == nil {
			_, changed, err = cleanStore(ctx, etcd, baseline, touched, stays)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// store is etcd, as far as it is needed to clean it.
type store interface {
	read(context.Context) (contents, int64, error)
	apply(context.Context, []change) error
}

// cleanStore makes the contents the baseline's. It returns the revision at which
// they are, and whether it had to change them, and adds the keys to touched.
func cleanStore(ctx context.Context, etcd store, baseline contents, touched map[string]bool, stays stays) (revision int64, changed bool, err error) {
	left := "something"
	for {
		now, at, err := etcd.read(ctx)
		var plan []change
		if err == nil {
			plan = resetPlan(baseline, now, stays)
			left = describe(plan)
			err = context.Cause(ctx)
		}
		if len(plan) > 0 && err == nil {
			err = etcd.apply(ctx, plan)
		}
		if err != nil {
			return 0, false, fmt.Errorf("%s is left: %w", left, err)
		}
		if len(plan) == 0 {
			return at, changed, nil
		}
		changed = true
		for _, change := range plan {
			touched[change.key] = true
		}
	}
}

// describe names what a plan changes, by its key in etcd: the first few of many.
func describe(plan []change) string {
	const most = 5
	var keys []string
	for _, change := range plan[:min(most, len(plan))] {
		keys = append(keys, strings.TrimPrefix(change.key, registry))
	}
	if more := len(plan) - most; more > 0 {
		keys = append(keys, fmt.Sprintf("%d more", more))
	}
	return strings.Join(keys, ", ")
}
