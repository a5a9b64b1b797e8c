package embedded

import (
	"context"
	"errors"
	"fmt"
)

// Compact makes etcd forget what was before now: of each object, the last
// version is left. An API server does so every five minutes.
//
// A watch that has kept up goes on, so nobody notices while every connection
// stays. But one that breaks can't be resumed, not even by who had seen
// everything: the revision that is compacted is younger than any that a client
// knows. Restart etcd to break kube-apiserver's, which then begins its watch
// cache anew and tells its own clients 410 Gone. One that is not paused
// meanwhile may have caught up in time.
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
