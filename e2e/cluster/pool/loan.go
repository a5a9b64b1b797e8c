package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

// Variable is the environment variable that holds [Pool.Dir].
const Variable = "TESTBED_POOL"

// FromEnvironment returns the pool that a command was started with, or "".
//
// It does not use os.Getenv: from which pool a suite has its cluster makes no difference to the result, and the Go command reuses the result
// of a test only if all variables that the test has read with os.Getenv have the values that they had.
func FromEnvironment() string {
	dir, _ := syscall.Getenv(Variable)
	return dir
}

// Loan is a cluster that is lent.
type Loan struct {
	// Cluster is its name, for [embedded.Attach].
	Cluster string

	connection net.Conn
	lost       chan struct{}
}

// Borrow returns a cluster of the pool in a directory, as [embedded.Provider.Create] would return it with the CustomResourceDefinitions
// in these files and directories, by absolute paths. It is the caller's until [Loan.Return], or until this process exits.
func Borrow(ctx context.Context, dir string, crds ...string) (*Loan, error) {
	loan, err := borrow(ctx, dir, crds)
	if err != nil {
		return nil, fmt.Errorf("get a cluster from the pool in %s: %w", dir, err)
	}
	return loan, nil
}

func borrow(ctx context.Context, dir string, crds []string) (_ *Loan, err error) {
	connection, err := supervisor.DialUnix(ctx, socket(dir))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = connection.Close()
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = connection.Close() })
	defer stop()
	messages, got := json.NewDecoder(connection), answer{}
	err = json.NewEncoder(connection).Encode(request{CRDs: crds})
	if err == nil {
		err = messages.Decode(&got)
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("it has ended: %w", err)
	case got.Error != "":
		return nil, errors.New(got.Error)
	}
	loan := &Loan{Cluster: got.Cluster, connection: connection, lost: make(chan struct{})}
	go func() {
		defer close(loan.lost)
		_ = messages.Decode(&struct{}{}) // nothing more is ever written
	}()
	return loan, nil
}

// Lost returns a channel that is closed when the pool has ended, and with it the cluster, or the loan was returned.
func (l *Loan) Lost() <-chan struct{} { return l.lost }

// Return gives the cluster back, and returns when the pool has it.
func (l *Loan) Return() error {
	_ = l.connection.(*net.UnixConn).CloseWrite() // it fails where the pool has ended
	<-l.lost
	return l.connection.Close()
}
