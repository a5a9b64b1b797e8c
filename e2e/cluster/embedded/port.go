package embedded

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken from below the ranges that Linux (32768 to 60999) and macOS
// (from 49152) give to outgoing connections and to whoever asks for any port:
// a component that restarts finds its port still free.
const (
	firstPort = 20000
	lastPort  = 29999
)

// freePort returns a port on loopback that nobody listens on. Somebody may
// before its user does: be ready to choose another one.
func freePort() (int, error) {
	var last error
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			last = err
			continue
		}
		return port, listener.Close()
	}
	return 0, errors.Join(fmt.Errorf("find a free port between %d and %d on 127.0.0.1", firstPort, lastPort), last)
}
