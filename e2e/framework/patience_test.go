package framework

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// after waits as a slow API server does, whose client gives up when ctx ends.
func after(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// An assertion on a slow machine fails with what it has seen, too.
func TestPatienceBeginsWithTheFirstAnswer(t *testing.T) {
	g := NewWithT(t)
	c := newClient(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := after(ctx, 3*brief); err != nil {
				return err
			}
			return c.List(ctx, list, opts...)
		},
	}, deployment(3, 2))
	got := verdict(t, c, brief, func(ctx context.Context, s *Scope) { WaitForDeployment(ctx, s, key, 3) })
	g.Expect(got).To(ContainSubstring("last seen: spec.replicas 3, 3 pods (3 updated, 2 ready, 2 available)"))
}

func TestWaitForNeverCutsAnAnswerOff(t *testing.T) {
	g := NewWithT(t)
	c := newClient(interceptor.Funcs{})
	asked := 0
	may := func(ctx context.Context) error {
		if err := after(ctx, 3*brief); err != nil {
			return err
		}
		asked++
		return errors.New("expected true; last seen: false")
	}
	got := verdict(t, c, brief, func(ctx context.Context, s *Scope) { WaitFor(ctx, s, "may ann create", may) })
	g.Expect(got).To(Equal("may ann create: expected true; last seen: false (gave up after 50ms)"))
	g.Expect(asked).To(Equal(2), "expected to be asked again as long as there is time")

	g.Expect(verdict(t, c, brief, func(ctx context.Context, s *Scope) {
		WaitFor(ctx, s, "an answer", func(context.Context) error { return nil })
	})).To(BeEmpty())

	got = verdict(t, c, brief, func(ctx context.Context, s *Scope) {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(errors.New("Ctrl-C"))
		WaitFor(ctx, s, "may ann create", may)
	})
	g.Expect(got).To(HaveSuffix("(stopped: Ctrl-C)"))
}

// A cluster that takes long to start a pod is given longer, and one that starts none is not waited for.
func TestPaced(t *testing.T) {
	for name, tc := range map[string]struct {
		paced, works bool
		want         string // part of the failure; none: success
	}{
		"a slow cluster":               {true, true, ""},
		"a slow cluster, not asked":    {false, true, "last seen: spec.replicas 3, 3 pods (3 updated, 2 ready"},
		"a cluster that takes nothing": {true, false, "last seen: spec.replicas 3, 3 pods (3 updated, 2 ready"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := newClient(interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
					if !tc.works {
						return errors.New("connection refused")
					}
					if err := after(ctx, brief); err != nil {
						return err
					}
					obj.(*appsv1.Deployment).Status.AvailableReplicas = 1
					return c.Create(ctx, obj, opts...)
				},
				Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
					if err := c.Delete(ctx, obj, opts...); err != nil {
						return err
					}
					return c.Status().Update(ctx, deployment(3, 3))
				},
			}, deployment(3, 2))
			got := verdict(t, c, brief, func(ctx context.Context, s *Scope) {
				s.Cluster.RunsPods = !tc.paced
				WaitForDeployment(ctx, s, key, 3)
			})
			if tc.want == "" {
				g.Expect(got).To(BeEmpty())
				return
			}
			g.Expect(got).To(ContainSubstring(tc.want))
		})
	}
}

// Where an operator is broken on purpose, what it must fail with is waited for less than anything else.
func TestExpecting(t *testing.T) {
	for expected, want := range map[string]string{
		"3 updated, 2 ready":             "(3 updated, 2 ready",
		"gave up after":                  "(3 updated, 2 ready",
		"the nodes are wrong\n3 updated": "(3 updated, 2 ready",
		"the nodes are wrong":            "",
	} {
		t.Run(expected, func(t *testing.T) {
			g := NewWithT(t)
			measured := 0
			c := newClient(interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
					if err := after(ctx, brief); err != nil {
						return err
					}
					obj.(*appsv1.Deployment).Status.AvailableReplicas = 1
					return c.Create(ctx, obj, opts...)
				},
				Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
					if measured++; measured == 1 {
						return c.Delete(ctx, obj, opts...)
					}
					return c.Status().Update(ctx, deployment(3, 3))
				},
			}, deployment(3, 2))
			t.Setenv("TESTBED_EXPECTED", expected)
			got := verdict(t, c, brief, func(ctx context.Context, s *Scope) {
				s.Cluster.RunsPods = false
				WaitForDeployment(ctx, s, key, 3)
			})
			if want == "" {
				g.Expect(got).To(BeEmpty(), "expected it to wait on: nothing was wrong that is expected")
			} else {
				g.Expect(got).To(ContainSubstring(want))
			}
		})
	}
}

// Features that start after a failure wait less, if that was asked for, and never longer.
func TestPatienceAfterAFailure(t *testing.T) {
	for _, test := range []struct {
		timeout, failing time.Duration
		failed           bool
		want             time.Duration
		turns            int
	}{
		{10 * time.Second, 3 * time.Second, false, 10 * time.Second, turns},
		{10 * time.Second, 3 * time.Second, true, 3 * time.Second, failingTurns},
		{time.Second, 3 * time.Second, true, time.Second, failingTurns},
		{10 * time.Second, 0, true, 10 * time.Second, turns},
	} {
		s := &Suite{timeout: test.timeout, failing: test.failing}
		s.failed.Store(test.failed)
		if got, turns := s.patience(); got != test.want || turns != test.turns {
			t.Errorf("%+v: got %v and %d turns", test, got, turns)
		}
	}
}
