package memcached

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/executable"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// shortLease makes the next leader wait for seconds, where a real one may take its time. A leader that can't renew its lease in
// time ends, and an API server beside pods that start may keep it waiting for longer than one that has a machine to itself.
func shortLease(s *framework.Scope) runner.Change {
	if s.Cluster.RunsPods {
		return runner.WithArgs("--leader-election-lease-duration=20s", "--leader-election-renew-deadline=15s", "--leader-election-retry-period=1s")
	}
	return runner.WithArgs("--leader-election-lease-duration=12s", "--leader-election-renew-deadline=10s", "--leader-election-retry-period=500ms")
}

// longLease lets a leader outlast what makes others give up, also on a slow machine.
var (
	longLease     = runner.WithArgs(longLeaseArgs...)
	longLeaseArgs = []string{"--leader-election-lease-duration=60s", "--leader-election-renew-deadline=50s"}
)

// TestLeader owns the operator, of which two replicas run. Their executables have different names, by which the audit log
// tells them apart.
func TestLeader(t *testing.T) {
	feature := memcached.Feature("leader").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "operator").
		Setup(ownOperator)
	framework.Given(feature, func(ctx context.Context, s *framework.Scope) *replicas {
		directory := s.TempDir()
		two := &replicas{asFirst: program(s, directory, "first"), asSecond: program(s, directory, "second")}
		stop(ctx, s)
		// So that the feature does not depend on whether it was given back.
		if err := client.IgnoreNotFound(s.Client.Delete(ctx, leaseOf(s))); err != nil {
			s.Fatal(err)
		}
		restart(ctx, s, shortLease(s), two.asFirst)
		two.first = s.Operator.Replicas()[0]
		served(ctx, s, "first")
		var err error
		if two.second, err = s.Operator.AddReplica(ctx, shortLease(s), two.asSecond); err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() {
			if err := two.second.Remove(context.WithoutCancel(ctx)); err != nil {
				s.Error(err)
			}
		})
		return two
	}).
		Assess("alone works", func(ctx context.Context, s *framework.Scope, two *replicas) {
			served(ctx, s, "first")
		}).
		Assess("logs which replica leads", func(ctx context.Context, s *framework.Scope, _ *replicas) {
			lease := leaseOf(s)
			framework.WaitForObject(ctx, s, lease, Not(BeNil()))
			framework.WaitForEvent(ctx, s, lease, framework.Event{Type: corev1.EventTypeNormal, Reason: "LeaderElection", Note: "became leader"})
		}).
		Assess("gives its lease back when a signal stops it", func(ctx context.Context, s *framework.Scope, two *replicas) {
			mark := s.Mark()
			if err := two.first.Stop(ctx); err != nil {
				s.Fatal(err)
			}
			framework.WaitForRequest(ctx, s, framework.RequestInput{
				What:   "that the first replica gives its lease back",
				Writes: framework.Writes{Log: s.Audit, Since: mark, User: s.Operator.UserName(), Filters: []audit.Filter{audit.Resource("leases", ""), audit.ByProgram("first")}},
				Match: func(e *auditv1.Event) bool {
					return e.RequestObject != nil && strings.Contains(string(e.RequestObject.Raw), `"holderIdentity":""`)
				},
			})
			served(ctx, s, "second")
		}).
		Assess("is followed when it is killed", func(ctx context.Context, s *framework.Scope, two *replicas) {
			if err := two.first.Restart(ctx, shortLease(s), two.asFirst); err != nil {
				s.Fatal(err)
			}
			followed(ctx, s, func(ctx context.Context) error {
				// What was killed does not go on, so its lease may as well expire at once.
				return errors.Join(two.second.Kill(ctx), s.Client.Patch(ctx, leaseOf(s), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"leaseDurationSeconds":1}}`))))
			})
			served(ctx, s, "first")
		}).
		Assess("is followed when it hangs", func(ctx context.Context, s *framework.Scope, two *replicas) {
			if err := two.second.Restart(ctx, shortLease(s), two.asSecond); err != nil {
				s.Fatal(err)
			}
			followed(ctx, s, two.first.Pause)
			served(ctx, s, "second")
		}).
		Assess("is no second writer when it goes on", func(ctx context.Context, s *framework.Scope, two *replicas) {
			mc := create(ctx, s, s.NewName("grown"), s.Size(1, 2))
			settled(ctx, s, mc)
			resize(ctx, s, mc, s.Size(3, 5))
			settled(ctx, s, mc)
			mark := s.Mark()
			if err := two.first.Resume(ctx); err != nil {
				s.Fatal(err)
			}
			// Behind what it has missed comes what both see happen.
			pods := []client.DeleteAllOfOption{client.InNamespace(s.Namespace), client.HasLabels{cachev1alpha1.LabelMemcachedUID}}
			if err := s.Client.DeleteAllOf(ctx, &corev1.Pod{}, pods...); err != nil {
				s.Fatal(err)
			}
			how, err := two.first.Ended(ctx)
			if err != nil {
				s.Fatal(err)
			}
			if how.Code != 1 {
				s.Errorf("expected the first replica to exit with code 1; last seen: it %s", how)
			}
			settled(ctx, s, mc)
			served(ctx, s, "second")
			framework.VerifyWrites(ctx, s, 0, s.Writes(mark, audit.ByProgram("first")))
		}).
		TestAlone(t)
}

// replicas are two replicas of the operator, each with the change that makes it run as a program of its own name.
type replicas struct {
	first, second     *runner.Replica
	asFirst, asSecond runner.Change
}

// served fails the test unless a new Memcached is served, by that program alone.
func served(ctx context.Context, s *framework.Scope, program string) {
	s.Helper()
	mark, begin := s.Mark(), time.Now()
	settled(ctx, s, create(ctx, s, s.NewName("cache"), s.Size(1, 2)))
	framework.VerifyWrites(ctx, s, 0, s.Writes(mark, audit.Not(audit.ByProgram(program)), audit.ReceivedAfter(begin)))
}

// followed stops the leader and waits until another replica leads. That takes as long as the lease lasts, however little time
// other assertions have.
func followed(ctx context.Context, s *framework.Scope, stop func(context.Context) error) {
	s.Helper()
	lease := leaseOf(s)
	framework.WaitForObject(ctx, s, lease, HaveField("Spec.HolderIdentity", HaveValue(Not(BeEmpty()))))
	leader := *lease.Spec.HolderIdentity
	if err := stop(ctx); err != nil {
		s.Fatal(err)
	}
	framework.WaitForObject(ctx, s.Patient(framework.Converge), lease, HaveField("Spec.HolderIdentity", HaveValue(And(Not(BeEmpty()), Not(Equal(leader))))))
}

// leaseOf refers to the lease that the operator's replicas compete for.
func leaseOf(s *framework.Scope) *coordinationv1.Lease {
	return leaseIn(strings.Split(s.Operator.UserName(), ":")[2])
}

// leaseIn is leaseOf an operator in that namespace.
func leaseIn(namespace string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "memcached-operator.cache.example.com"}}
}

// program makes a replica run as a program of that base name.
func program(s *framework.Scope, directory, base string) runner.Change {
	s.Helper()
	path := filepath.Join(directory, base)
	content, err := os.ReadFile(s.Operator.Binary())
	if err == nil {
		err = executable.Write(path, content, 0o755)
	}
	if err != nil {
		s.Fatal(err)
	}
	return runner.WithBinary(path)
}
