package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// memory holds what this process wrote for each Memcached, because the cache shows it only later. Without it, a reconcile
// in between would write the same again. It is safe for concurrent use, and its zero value is empty.
type memory struct {
	mutex   sync.Mutex
	records map[types.NamespacedName]record
}

// record is what was written for one Memcached.
type record struct {
	uid types.UID
	// created is whether a Deployment was created: from then on, a cache without one may just be behind.
	created bool
	// status is the last status written, and resourceVersion what the Memcached had from then on.
	status          cachev1alpha1.MemcachedStatus
	resourceVersion string
	// awaited is whether the Memcached has been without a status and not been Available since.
	awaited bool
}

// noteCreated remembers that a Deployment was created for mc.
func (m *memory) noteCreated(mc *cachev1alpha1.Memcached) {
	m.update(mc, func(r *record) { r.created = true })
}

// hasCreated returns whether a Deployment was created for mc.
func (m *memory) hasCreated(mc *cachev1alpha1.Memcached) bool {
	return m.read(mc).created
}

// noteStatus remembers a status that was written, and the resource version that mc has with it.
func (m *memory) noteStatus(mc *cachev1alpha1.Memcached, status cachev1alpha1.MemcachedStatus, resourceVersion string) {
	m.update(mc, func(r *record) { r.status, r.resourceVersion = status, resourceVersion })
}

// noteAvailability remembers whether mc has been Available, given its status before and after a write. It returns whether it
// is so for the first time since its creation; of a Memcached that had a status before this process, nobody knows.
func (m *memory) noteAvailability(mc *cachev1alpha1.Memcached, previous, current cachev1alpha1.MemcachedStatus) (first bool) {
	m.update(mc, func(r *record) {
		awaited := r.awaited || len(previous.Conditions) == 0
		available := meta.IsStatusConditionTrue(current.Conditions, cachev1alpha1.ConditionAvailable)
		r.awaited, first = awaited && !available, awaited && available
	})
	return first
}

// lastStatus returns the newest status known of mc, which was read from the cache: what the cache has, unless it has not
// caught up with the last write.
func (m *memory) lastStatus(mc *cachev1alpha1.Memcached) cachev1alpha1.MemcachedStatus {
	written := m.read(mc)
	if age, err := resourceversion.CompareResourceVersion(mc.ResourceVersion, written.resourceVersion); err != nil || age >= 0 {
		return mc.Status
	}
	return written.status
}

// forget drops what is known of a Memcached that is gone.
func (m *memory) forget(name types.NamespacedName) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.records, name)
}

// read returns the record of mc; one of a predecessor with the same name does not count.
func (m *memory) read(mc *cachev1alpha1.Memcached) record {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.current(mc)
}

func (m *memory) update(mc *cachev1alpha1.Memcached, change func(*record)) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.records == nil {
		m.records = map[types.NamespacedName]record{}
	}
	updated := m.current(mc)
	change(&updated)
	m.records[nameOf(mc)] = updated
}

func (m *memory) current(mc *cachev1alpha1.Memcached) record {
	if found := m.records[nameOf(mc)]; found.uid == mc.UID {
		return found
	}
	return record{uid: mc.UID}
}

func nameOf(mc *cachev1alpha1.Memcached) types.NamespacedName {
	return types.NamespacedName{Namespace: mc.Namespace, Name: mc.Name}
}
