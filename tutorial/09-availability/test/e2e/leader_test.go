package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// TestLeader runs two replicas. Their executables have different names, by which the audit log tells them apart.
func TestLeader(t *testing.T) {
	type replicas struct {
		first, second *runner.Replica
		asFirst       []runner.Change
	}
	serve := func(ctx context.Context, s *framework.Scope, program string) {
		s.Helper()
		mark, begin := s.Mark(), time.Now()
		settled(ctx, s, create(ctx, s, s.NewName("cache"), s.Size(1, 2)))
		framework.VerifyWrites(ctx, s, 0, s.Writes(mark, audit.Not(audit.ByProgram(program)), audit.ReceivedAfter(begin)))
	}
	framework.Given(stage.Feature("the leader").Setup(ownOperator), func(ctx context.Context, s *framework.Scope) *replicas {
		lease, directory := shortLease(), s.TempDir()
		asFirst := []runner.Change{lease, program(s, directory, "first")}
		restart(ctx, s, asFirst...)
		first := s.Operator.Replicas()[0]
		serve(ctx, s, "first")
		mark := s.Mark()
		second, err := s.Operator.AddReplica(ctx, lease, program(s, directory, "second"))
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() {
			if err := second.Remove(context.WithoutCancel(ctx)); err != nil {
				s.Error(err)
			}
		})
		untilAsked(ctx, s, mark, "that the second replica asks for the lease", audit.Resource("leases", ""), audit.ByProgram("second"))
		return &replicas{first, second, asFirst}
	}).
		Assess("alone works", func(ctx context.Context, s *framework.Scope, _ *replicas) {
			serve(ctx, s, "first")
		}).
		Assess("is followed when it is killed", func(ctx context.Context, s *framework.Scope, running *replicas) {
			followed(ctx, s, running.first.Kill)
			serve(ctx, s, "second")
		}).
		Assess("gives its lease back when a signal stops it", func(ctx context.Context, s *framework.Scope, running *replicas) {
			if err := running.first.Restart(ctx, running.asFirst...); err != nil {
				s.Fatal(err)
			}
			mark := s.Mark()
			if err := running.second.Stop(ctx); err != nil {
				s.Fatal(err)
			}
			framework.WaitForRequest(ctx, s, framework.RequestInput{
				What:   "a lease without a holder",
				Writes: framework.Writes{Log: s.Audit, Since: mark, User: s.Operator.UserName(), Filters: []audit.Filter{audit.Resource("leases", ""), audit.ByProgram("second")}},
				Match: func(e *auditv1.Event) bool {
					return e.RequestObject != nil && strings.Contains(string(e.RequestObject.Raw), `"holderIdentity":""`)
				},
			})
			serve(ctx, s, "first")
		}).
		TestAlone(t)
}

// followed stops the leader and waits until another replica leads. No replica renews the lease then, so the test lets it expire at once.
func followed(ctx context.Context, s *framework.Scope, stop func(context.Context) error) {
	s.Helper()
	lease := leaseOf(s)
	framework.WaitForObject(ctx, s, lease, HaveField("Spec.HolderIdentity", HaveValue(Not(BeEmpty()))))
	leader := *lease.Spec.HolderIdentity
	if err := stop(ctx); err != nil {
		s.Fatal(err)
	}
	if err := s.Client.Patch(ctx, leaseOf(s), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"leaseDurationSeconds":1}}`))); err != nil {
		s.Fatal(err)
	}
	framework.WaitForObject(ctx, s.Patient(framework.Converge), lease, HaveField("Spec.HolderIdentity", HaveValue(And(Not(BeEmpty()), Not(Equal(leader))))))
}

// leaseOf refers to the lease that the operator's replicas compete for.
func leaseOf(s *framework.Scope) *coordinationv1.Lease {
	namespace := strings.Split(s.Operator.UserName(), ":")[2]
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "memcached-operator.cache.example.com"}}
}

// shortLease makes replicas ask for the lease every few seconds. A leader that can't renew its lease in time exits, so it is not shorter: a
// machine that stands still for seconds is not the operator's fault.
func shortLease() runner.Change { return runner.WithArgs("--leader-election-lease-duration=20s") }

// program makes a replica run as a program of that base name.
func program(s *framework.Scope, directory, base string) runner.Change {
	s.Helper()
	path := filepath.Join(directory, base)
	executable, err := os.ReadFile(s.Operator.Binary())
	if err == nil {
		err = os.WriteFile(path, executable, 0o755)
	}
	if err != nil {
		s.Fatal(err)
	}
	return runner.WithBinary(path)
}

// untilAsked reads the audit log until the operator has made such a request.
func untilAsked(ctx context.Context, s *framework.Scope, since audit.Mark, what string, filters ...audit.Filter) {
	s.Helper()
	framework.WaitFor(ctx, s, "the audit log", func(context.Context) error {
		asked, err := s.Audit.Since(since, append(filters, audit.ByUser(s.Operator.UserName()))...)
		if err == nil && len(asked) == 0 {
			err = fmt.Errorf("expected %s; last seen: it does not", what)
		}
		return err
	})
}
