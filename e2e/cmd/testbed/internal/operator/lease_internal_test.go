package operator

import (
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// An operator waits for another process's lease, and leads when the lease was acquired on this machine after its start.
func TestLead(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	started := time.Date(2026, 1, 2, 10, 20, 0, 123456789, time.UTC)
	earlier, later := started.Add(-time.Minute), started.Add(time.Second)
	type hold struct {
		holder   string
		acquired time.Time
	}
	killed, own := hold{host + "_killed", earlier}, hold{host + "_own", later}
	for name, test := range map[string]struct {
		holds []hold // one after the other
		leads bool
		waits []string
	}{
		"no lease":                      {nil, true, nil},
		"a released one":                {[]hold{{"", earlier}}, true, nil},
		"its own":                       {[]hold{own}, true, nil},
		"acquired at once":              {[]hold{{own.holder, started.Truncate(time.Microsecond)}}, true, nil},
		"that of a killed one":          {[]hold{killed}, false, []string{killed.holder}},
		"a killed one's, then its own":  {[]hold{killed, own}, true, []string{killed.holder}},
		"renewed, then its own":         {[]hold{killed, killed, own}, true, []string{killed.holder}},
		"released while it waits":       {[]hold{killed, {"", earlier}}, false, []string{killed.holder}},
		"another machine's":             {[]hold{{"elsewhere_a", later}}, false, []string{"elsewhere_a"}},
		"another machine's in its turn": {[]hold{killed, {"elsewhere_a", later}, own}, true, []string{killed.holder, "elsewhere_a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			key := client.ObjectKey{Namespace: "system", Name: "the-lease"}
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
			set := func(h hold) {
				at := metav1.NewMicroTime(h.acquired)
				lease.Spec.HolderIdentity, lease.Spec.AcquireTime = &h.holder, &at
			}
			// Unlike an API server, the fake client does not pass on what changes between a list and the watch that follows.
			watching := make(chan struct{}, 1)
			builder := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
				Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
					watched, err := c.Watch(ctx, list, options...)
					select {
					case watching <- struct{}{}:
					default: // it is not the first one
					}
					return watched, err
				},
			}).WithIndex(&coordinationv1.Lease{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} })
			if len(test.holds) > 0 {
				set(test.holds[0])
				builder = builder.WithObjects(lease)
			}
			c := builder.Build()
			done := make(chan error, 1)
			var waits []string
			waiting := make(chan struct{}, len(test.holds))
			go func() {
				done <- lead(ctx, c, key, started, func(lease client.ObjectKey, holder string) {
					g.Expect(lease).To(Equal(key))
					waits = append(waits, holder)
					waiting <- struct{}{}
				})
			}()
			received := 0
			receive := func() {
				select {
				case <-waiting:
					received++
				case <-ctx.Done():
					t.Fatalf("expected to hear %d times who holds the lease; last seen: %d", len(test.waits), received)
				}
			}
			for i, h := range test.holds[min(1, len(test.holds)):] {
				if i == 0 {
					<-watching
				}
				if h != test.holds[i] && test.holds[i].holder != "" {
					receive()
				}
				g.Expect(c.Get(ctx, key, lease)).To(Succeed())
				set(h)
				if h == test.holds[i] {
					lease.Spec.LeaseTransitions = new(int32)
				}
				g.Expect(c.Update(ctx, lease)).To(Succeed())
			}
			if !test.leads {
				for received < len(test.waits) {
					receive()
				}
				cancel()
			}
			err := <-done
			if test.leads {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(context.Canceled))
			}
			g.Expect(waits).To(Equal(test.waits))
		})
	}
}

func TestElectsLeader(t *testing.T) {
	for _, test := range []struct {
		args []string
		want bool
	}{
		{nil, false},
		{[]string{"--leader-elect", "--a=b"}, true},
		{[]string{"-leader-elect=true"}, true},
		{[]string{"--leader-elect", "--leader-elect=false"}, false},
		{[]string{"--leader-elect=false", "--leader-elect"}, true},
		{[]string{"--leader-election-namespace=a"}, false},
	} {
		if got := electsLeader(test.args); got != test.want {
			t.Errorf("%q: got %v, want %v", test.args, got, test.want)
		}
	}
}
