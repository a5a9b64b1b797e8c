package lenient

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// memo keeps the last decoded version of each Memcached, because most reads find the version that the read before them found. A nil
// memo keeps nothing. It is safe for concurrent use.
type memo struct {
	mutex   sync.Mutex
	decoded map[client.ObjectKey]*cachev1alpha1.Memcached
}

// decode is [Decode] of the Memcached with that key. The caller may change the result.
func (m *memo) decode(key client.ObjectKey, raw *unstructured.Unstructured) (*cachev1alpha1.Memcached, error) {
	if m == nil {
		return Decode(raw)
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	last := m.decoded[key]
	if last == nil || last.UID != raw.GetUID() || last.ResourceVersion != raw.GetResourceVersion() {
		decoded, err := Decode(raw)
		if err != nil {
			return nil, err
		}
		if m.decoded == nil {
			m.decoded = map[client.ObjectKey]*cachev1alpha1.Memcached{}
		}
		last, m.decoded[key] = decoded, decoded
	}
	return last.DeepCopy(), nil
}

// forget drops the Memcached with that key.
func (m *memo) forget(key client.ObjectKey) {
	if m == nil {
		return
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.decoded, key)
}
