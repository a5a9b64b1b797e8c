package embedded

import (
	"context"
	"fmt"
	"strings"
)

// Stored returns what etcd holds of a resource of a group, such as "cache.example.com/memcacheds", by namespace and name: in which
// version an object is stored is nothing that the API shows.
func (p *Provider) Stored(ctx context.Context, resource string) (map[string][]byte, error) {
	if p.sup == nil {
		return nil, fmt.Errorf("read etcd: %w", &NotUpError{Name: p.name})
	}
	all, _, err := newEtcdClient(p.layout.etcd()).read(ctx)
	if err != nil {
		return nil, fmt.Errorf("the embedded cluster %s: %w", p.name, err)
	}
	found := map[string][]byte{}
	for key, value := range all {
		if name, ok := strings.CutPrefix(key, registry+resource+"/"); ok {
			found[name] = value.Value
		}
	}
	return found, nil
}
