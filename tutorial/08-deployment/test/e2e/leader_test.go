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
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// TestLeader runs two replicas. Their executables have different names, by which the audit log tells them apart.
func TestLeader(t *testing.T) {
	var first, second *runner.Replica
	var lease, asFirst, asSecond runner.Change
	served := 0
	serve := func(ctx context.Context, t *testing.T, s *framework.Scope, program string) {
		t.Helper()
		mark, begin := s.Mark(t), time.Now()
		served++
		settled(ctx, t, s, create(ctx, t, s, fmt.Sprintf("cache-%d", served), 1))
		s.Expect(t).AtMost(0, s.Writes(mark, audit.Not(audit.ByProgram(program)), audit.ReceivedAfter(begin)))
	}
	stage.TestAlone(t, features.New("the leader").
		Setup(framework.Step(ownOperator)).
		Setup(framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			folder := t.TempDir()
			lease, asFirst, asSecond = shortLease(s), program(t, s, folder, "first"), program(t, s, folder, "second")
			restart(ctx, t, s, lease, asFirst)
			first = s.Operator.Replicas()[0]
			serve(ctx, t, s, "first")
			mark := s.Mark(t)
			var err error
			if second, err = s.Operator.AddReplica(ctx, lease, asSecond); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := second.Remove(context.WithoutCancel(ctx)); err != nil {
					t.Error(err)
				}
			})
			untilAsked(ctx, t, s, mark, "that the second replica asks for the lease", audit.Resource("leases", ""), audit.ByProgram("second"))
		})).
		Assess("alone works", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			serve(ctx, t, s, "first")
		})).
		Assess("is followed when it is killed", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			followed(ctx, t, s, first.Kill)
			serve(ctx, t, s, "second")
		})).
		Assess("gives its lease back when it is told to end", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			if err := first.Restart(ctx, lease, asFirst); err != nil {
				t.Fatal(err)
			}
			mark := s.Mark(t)
			if err := second.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			s.Expect(t).Logged(ctx, "a lease without a holder",
				framework.Writes{Log: s.Audit, Since: mark, User: s.Operator.UserName(), Filters: []audit.Filter{audit.Resource("leases", ""), audit.ByProgram("second")}},
				func(e *auditv1.Event) bool {
					return e.RequestObject != nil && strings.Contains(string(e.RequestObject.Raw), `"holderIdentity":""`)
				})
			serve(ctx, t, s, "first")
		})).
		Feature())
}

// followed stops the leader and waits until another replica leads. That takes as long as the lease lasts, however little time
// other assertions have.
func followed(ctx context.Context, t *testing.T, s *framework.Scope, stop func(context.Context) error) {
	t.Helper()
	lease := leaseOf(s)
	s.Expect(t).Object(ctx, lease, HaveField("Spec.HolderIdentity", HaveValue(Not(BeEmpty()))))
	leader := *lease.Spec.HolderIdentity
	if err := stop(ctx); err != nil {
		t.Fatal(err)
	}
	s.Expect(t).Patient(framework.Converge).Object(ctx, lease, HaveField("Spec.HolderIdentity", HaveValue(And(Not(BeEmpty()), Not(Equal(leader))))))
}

// leaseOf refers to the lease that the operator's replicas vie for.
func leaseOf(s *framework.Scope) *coordinationv1.Lease {
	namespace := strings.Split(s.Operator.UserName(), ":")[2]
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "memcached-operator.cache.example.com"}}
}

// shortLease makes the next leader wait for seconds. A leader that can't renew its lease in time ends, so it is not as short
// where an API server shares its machine with pods that start.
func shortLease(s *framework.Scope) runner.Change {
	if s.RealKubelet {
		return runner.WithArgs("--leader-election-lease-duration=20s")
	}
	return runner.WithArgs("--leader-election-lease-duration=6s")
}

// program makes a replica run as a program of that name.
func program(t *testing.T, s *framework.Scope, folder, name string) runner.Change {
	t.Helper()
	path := filepath.Join(folder, name)
	executable, err := os.ReadFile(s.Operator.Binary())
	if err == nil {
		err = os.WriteFile(path, executable, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return runner.WithBinary(path)
}

// untilAsked reads the audit log until the operator has made such a request.
func untilAsked(ctx context.Context, t *testing.T, s *framework.Scope, since audit.Mark, what string, filters ...audit.Filter) {
	t.Helper()
	s.Expect(t).Until(ctx, "the audit log", func(context.Context) error {
		asked, err := s.Audit.Since(since, append(filters, audit.ByUser(s.Operator.UserName()))...)
		if err == nil && len(asked) == 0 {
			err = fmt.Errorf("expected %s; last seen: it does not", what)
		}
		return err
	})
}
