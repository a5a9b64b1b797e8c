// Package testenv runs envtest's control plane for tests, and leaves nothing of it when they are interrupted or killed.
package testenv

import (
	"errors"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Start starts a control plane, and returns how to reach it and what stops it, which may be called again.
//
// The control plane is also stopped when a signal asks the tests to end. It does not get the signal of Ctrl-C itself, because its
// processes are in process groups of their own.
func Start(environment *envtest.Environment) (*rest.Config, func() error, error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, asked()...)
	watcher, err := endWithTests(environment)
	if err != nil {
		return nil, nil, err
	}
	config, err := environment.Start() // a signal meanwhile waits
	// As long as somebody watches, the API server takes a minute to end.
	connections := connrotation.NewDialer((&net.Dialer{}).DialContext)
	stop := sync.OnceValue(func() error {
		connections.CloseAll()
		return errors.Join(environment.Stop(), watcher.end())
	})
	go func() {
		number, _ := (<-signals).(syscall.Signal)
		_ = stop()
		os.Exit(128 + int(number))
	}()
	if err == nil {
		err = watcher.watch(environment)
	}
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	config.Dial = connections.DialContext
	return config, stop, nil
}

// asked are the signals by which somebody asks a program to end. A hangup that nohup ignores is none.
func asked() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
