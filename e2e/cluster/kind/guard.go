package kind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/supervisor/lock"
	"github.com/example/operator-testbed/e2e/host/home"
	"github.com/example/operator-testbed/e2e/reaper"
)

// guard is the name of what removes clusters that a test, or a command that it has run, has left. The engine runs the
// containers, so they outlive every process of the test.
const guard = "kind cluster"

func init() { reaper.Register(guard, removeGuarded) }

// guarded says which cluster it is.
type guarded struct {
	State string `json:"state"`
	Name  string `json:"name"`
}

// guarded is the argument for removeGuarded.
func (p *Provider) guarded() (string, error) {
	state, err := home.State()
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(guarded{state, p.name})
	return string(data), err
}

// guard has the cluster removed with the tests that this process belongs to, if it does.
func (p *Provider) guard() error {
	argument, err := p.guarded()
	if err != nil {
		return err
	}
	return reaper.Guard(guard, argument)
}

// unguard is called when the cluster is gone, or is to stay.
func (p *Provider) unguard() {
	if argument, err := p.guarded(); err == nil {
		reaper.Release(guard, argument)
	}
}

const (
	// claimLimit is how long the process that holds the claim may take to end. It has been killed, or another reaper is removing the
	// cluster.
	claimLimit = time.Minute
	// lastContainer is how long the engine may take to make a container that it was asked for by a process which was killed then.
	lastContainer = time.Second
	claimPause    = 50 * time.Millisecond
)

// removeGuarded removes a cluster whose tests have ended.
func removeGuarded(argument string) error {
	var g guarded
	if err := json.Unmarshal([]byte(argument), &g); err != nil {
		return err
	}
	if err := os.Setenv(home.StateVariable, g.State); err != nil {
		return err
	}
	p := NewProvider()
	p.name = g.Name
	ctx := context.Background()
	if err := p.find(ctx); err != nil {
		return err
	}
	for {
		if err := p.destroyUnclaimed(ctx); err != nil {
			return err
		}
		<-time.After(lastContainer)
		if there, err := p.isThere(ctx); err != nil || !there {
			return err
		}
	}
}

// destroyUnclaimed is destroy as soon as nobody holds the claim.
func (p *Provider) destroyUnclaimed(ctx context.Context) error {
	for begin := time.Now(); ; <-time.After(claimPause) {
		file, err := locked(p.layout.claim(), lock.Exclusive)
		switch {
		case err == nil:
			p.held = &claim{file}
			return p.destroy(ctx)
		case !errors.Is(err, lock.ErrHeld):
			return err
		case time.Since(begin) > claimLimit:
			return fmt.Errorf("remove the kind cluster %s: %w", p.name, err)
		}
	}
}
