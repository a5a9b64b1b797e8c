// Package loopback finds ports on this machine's loopback for processes that are about to start.
package loopback

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken from below the ranges that Linux (32768 to 60999) and macOS
// (from 49152) give to outgoing connections and to whoever asks for any port:
// between finding a port and listening on it, or when a process restarts on
// its port, no connection takes it.
const (
	firstPort = 20000
	lastPort  = 29999
)

// Listen listens on a port of 127.0.0.1 that nobody listens on.
func Listen() (net.Listener, error) { return ListenOn("127.0.0.1") }

// ListenOn listens on such a port of another address of this machine, such as one that only its containers reach.
func ListenOn(address string) (net.Listener, error) {
	var last error
	for range 100 {
		listener, err := net.Listen("tcp4", fmt.Sprintf("%s:%d", address, firstPort+rand.IntN(lastPort-firstPort+1)))
		if err == nil {
			return listener, nil
		}
		last = err
	}
	return nil, errors.Join(fmt.Errorf("find a free port between %d and %d on %s", firstPort, lastPort, address), last)
}

// FreePort returns a port that nobody listens on. Somebody may before its user
// does: be ready to choose another one.
func FreePort() (int, error) {
	listener, err := Listen()
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}
