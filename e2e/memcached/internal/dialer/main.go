// Command dialer runs in a pod and prints which ports of a host it can connect to, in a line whenever that changes:
//
//	dialer 10.244.0.7 8081 8443
//	8081:open 8443:open
//	8081:open 8443:closed
//
// Without arguments it listens on its port 8080.
package main

import (
	"fmt"
	"log"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// patience is how long a port may take to answer: where a policy forbids it, packets are lost in silence.
const patience = time.Second

func main() {
	if len(os.Args) < 3 {
		log.Fatal(listen())
	}
	last := ""
	for range time.Tick(patience / 2) {
		if state := dial(os.Args[1], os.Args[2:]); state != last {
			fmt.Println(state)
			last = state
		}
	}
}

func listen() error {
	listener, err := net.Listen("tcp", ":8080")
	for err == nil {
		var connection net.Conn
		if connection, err = listener.Accept(); err == nil {
			err = connection.Close()
		}
	}
	return err
}

// dial tries all ports at once.
func dial(host string, ports []string) string {
	states := make([]string, len(ports))
	var all sync.WaitGroup
	for i, port := range ports {
		all.Go(func() {
			states[i] = port + ":closed"
			if connection, err := net.DialTimeout("tcp", net.JoinHostPort(host, port), patience); err == nil {
				states[i] = port + ":open"
				connection.Close()
			}
		})
	}
	all.Wait()
	return strings.Join(states, " ")
}
