package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/host/home"
)

// Pool owns embedded clusters.
type Pool struct {
	progress io.Writer
	dir      *supervisor.Supervisor // runs nothing; its directory goes when this process does
	listener net.Listener
	life     context.Context // of the clusters
	end      context.CancelFunc
	requests sync.WaitGroup

	mu    sync.Mutex
	idle  []*embedded.Provider
	all   []*embedded.Provider
	named int
	stats Stats
}

// Stats count what a pool has done.
type Stats struct {
	// Started is how many clusters were started.
	Started int
	// Lent is how many times a suite got one.
	Lent int
	// Free is how many clusters wait for the next suite.
	Free int
}

// Start returns a pool without clusters: each is started when a suite asks for one and none is free. What goes wrong with a cluster that
// is then replaced is written to progress.
//
// The program must call [supervisor.Main] first thing.
func Start(ctx context.Context, progress io.Writer) (*Pool, error) {
	state, err := home.State()
	if err != nil {
		return nil, err
	}
	dir, err := supervisor.Start(ctx, supervisor.Options{Dir: filepath.Join(state, "pools", strconv.Itoa(os.Getpid()))})
	if err != nil {
		return nil, fmt.Errorf("start a pool of clusters: %w", err)
	}
	p := &Pool{progress: progress, dir: dir}
	p.life, p.end = context.WithCancel(context.WithoutCancel(ctx))
	if p.listener, err = supervisor.ListenUnix(socket(dir.Dir())); err != nil {
		return nil, errors.Join(fmt.Errorf("start a pool of clusters: %w", err), dir.Shutdown(context.WithoutCancel(ctx)))
	}
	p.requests.Go(p.serve) // so that Close waits for every request that it has accepted
	return p, nil
}

// Dir identifies the pool for [Borrow].
func (p *Pool) Dir() string { return p.dir.Dir() }

// Stats returns what the pool has done so far.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := p.stats
	stats.Free = len(p.idle)
	return stats
}

// Close destroys the clusters, also those that suites still have.
func (p *Pool) Close(ctx context.Context) error {
	p.end()
	err := p.listener.Close()
	p.requests.Wait()
	var destroyed sync.WaitGroup
	failed := make([]error, len(p.all))
	for i, cluster := range p.all {
		destroyed.Go(func() { failed[i] = cluster.Destroy(ctx) })
	}
	destroyed.Wait()
	return errors.Join(err, errors.Join(failed...), p.dir.Shutdown(ctx))
}

func (p *Pool) serve() {
	for {
		connection, err := p.listener.Accept()
		if err != nil {
			return // it is closed
		}
		p.requests.Go(func() {
			defer connection.Close()
			stop := context.AfterFunc(p.life, func() { _ = connection.Close() }) // else lend may wait for a request that never comes
			defer stop()
			p.lend(connection)
		})
	}
}

// request is what a suite asks for.
type request struct {
	// CRDs are files and directories of CustomResourceDefinitions that the cluster has from its start.
	CRDs []string `json:"crds"`
}

// answer is what it gets.
type answer struct {
	// Cluster is the name of the cluster.
	Cluster string `json:"cluster,omitempty"`
	// Error is why there is none.
	Error string `json:"error,omitempty"`
}

// lend lends a cluster for as long as the connection lasts.
func (p *Pool) lend(connection net.Conn) {
	ctx, returned := context.WithCancel(p.life)
	defer returned()
	messages := json.NewDecoder(connection)
	var wanted request
	if err := messages.Decode(&wanted); err != nil {
		return
	}
	go func() {
		_ = messages.Decode(&struct{}{}) // nothing more is ever written
		returned()
	}()
	cluster, err := p.take(ctx, wanted.CRDs)
	if err != nil {
		_ = json.NewEncoder(connection).Encode(answer{Error: err.Error()})
		return
	}
	defer p.giveBack(cluster)
	if err := json.NewEncoder(connection).Encode(answer{Cluster: cluster.Name()}); err != nil {
		return
	}
	<-ctx.Done()
}

// take returns a cluster as new, which it removes from the idle ones.
func (p *Pool) take(ctx context.Context, crds []string) (*embedded.Provider, error) {
	if err := embedded.CheckCRDs(crds...); err != nil {
		return nil, err // no other cluster would help
	}
	for cluster := p.free(); cluster != nil; cluster = p.free() {
		err := cluster.Renew(ctx, crds...)
		if err == nil {
			p.count(func(s *Stats) { s.Lent++ })
			return cluster, nil
		}
		if ctx.Err() != nil {
			p.giveBack(cluster)
			return nil, context.Cause(ctx)
		}
		_, _ = fmt.Fprintf(p.progress, "pool: a cluster is replaced: %v\n", err)
		if err := p.drop(cluster); err != nil {
			return nil, err
		}
	}
	cluster := embedded.NewProvider()
	cluster.WithName(p.name()).WithOpts(embedded.WithCRDs(crds...))
	if _, err := cluster.Create(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, cluster)
	p.stats.Started++
	p.stats.Lent++
	return cluster, nil
}

// free returns an idle cluster, the last one that was used, or nil.
func (p *Pool) free() *embedded.Provider {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	last := len(p.idle) - 1
	cluster := p.idle[last]
	p.idle = p.idle[:last]
	return cluster
}

// giveBack makes a cluster idle. What a suite has left running beside it, such as an operator, is stopped.
func (p *Pool) giveBack(cluster *embedded.Provider) {
	if p.life.Err() != nil {
		return // Close destroys it
	}
	if err := cluster.StopOthers(p.life); err != nil {
		_, _ = fmt.Fprintf(p.progress, "pool: a cluster is not clean yet: %v\n", err) // the renewal tries again
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, cluster)
}

// drop destroys a cluster.
func (p *Pool) drop(cluster *embedded.Provider) error {
	p.mu.Lock()
	for i, other := range p.all {
		if other == cluster {
			p.all = append(p.all[:i:i], p.all[i+1:]...)
			break
		}
	}
	p.mu.Unlock()
	return cluster.Destroy(p.life)
}

func (p *Pool) count(change func(*Stats)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.stats)
}

// name names the next cluster.
func (p *Pool) name() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.named++
	return fmt.Sprintf("pool-%d-%d", os.Getpid(), p.named)
}

func socket(dir string) string { return filepath.Join(dir, "pool.sock") }
