package embedded

import (
	"context"
	"errors"
	"fmt"
)

// Compact compacts etcd: of each object, only the last version is left. An API server does so every five minutes.
//
// A watch that is up to date continues, so no client notices as long as all connections stay. But a watch that breaks can't be
// resumed, not even by a client that had seen everything, because the compacted revision is newer than any that a client knows.
// Restart etcd to break the watches of kube-apiserver, which then fills its watch cache again and answers its own clients 410 Gone,
// unless they have resumed before.
func (p *Provider) Compact(ctx context.Context) error {
	if p.sup == nil {
		return fmt.Errorf("compact etcd: %w", &NotUpError{Name: p.name})
	}
	etcd := newEtcdClient(p.layout.etcd())
	// Who has seen all of it resumes at the next revision: it must be gone, too.
	var answer struct {
		Header header `json:"header"`
	}
	var err error
	for range 2 {
		err = errors.Join(err, etcd.call(ctx, "kv/put", map[string]any{"key": []byte("compacted")}, &answer))
	}
	compaction := map[string]any{"revision": answer.Header.Revision, "physical": true}
	if err := errors.Join(err, etcd.call(ctx, "kv/compaction", compaction, &struct{}{})); err != nil {
		return fmt.Errorf("compact etcd of the embedded cluster %s: %w", p.name, err)
	}
	return nil
}
