package controller

import (
	"sync"
	"testing"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

func TestLastStatus(t *testing.T) {
	inCache := func(version string) *cachev1alpha1.Memcached {
		mc := testMemcached(1)
		mc.ResourceVersion = version
		mc.Status.Selector = "cached"
		return mc
	}
	written := cachev1alpha1.MemcachedStatus{Selector: "written"}
	for _, test := range []struct {
		name   string
		cached *cachev1alpha1.Memcached
		after  func(*lastWrites)
		want   string
	}{
		{"the cache is behind", inCache("9"), nil, "written"},
		{"the cache is as new", inCache("10"), nil, "cached"},
		{"the cache is newer", inCache("11"), nil, "cached"},
		{"a successor of the same name", func() *cachev1alpha1.Memcached {
			mc := inCache("9")
			mc.UID = "successor-uid"
			return mc
		}(), nil, "cached"},
		{"forgotten", inCache("9"), func(w *lastWrites) { w.forget(nameOf(inCache("9"))) }, "cached"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var w lastWrites
			w.recordStatus(inCache("9"), written, "10")
			if test.after != nil {
				test.after(&w)
			}
			if got := w.lastStatus(test.cached).Selector; got != test.want {
				t.Errorf("got the status that is %s, want the one that is %s", got, test.want)
			}
		})
	}
	t.Run("nothing was written", func(t *testing.T) {
		var w lastWrites
		w.recordDeployment(inCache("9"))
		if got := w.lastStatus(inCache("9")).Selector; got != "cached" {
			t.Errorf("got the status that is %s", got)
		}
	})
}

// For go test -race.
func TestLastWritesAreSafeForConcurrentUse(t *testing.T) {
	var w lastWrites
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			mc := testMemcached(1)
			for range 100 {
				w.recordDeployment(mc)
				w.recordStatus(mc, cachev1alpha1.MemcachedStatus{}, "1")
				w.lastStatus(mc)
				w.hasDeployment(mc)
				w.forget(nameOf(mc))
			}
		})
	}
	users.Wait()
	if len(w.records) > 0 {
		t.Errorf("%d records are left of a Memcached that was forgotten", len(w.records))
	}
}
