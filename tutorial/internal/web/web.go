// Package web is the shell of the pages that this repository serves on a person's own machine: who may read them, how they are
// updated, and how they end.
//
// Everything on a machine may connect to 127.0.0.1, other users and any web page included, so a page answers only what has its
// cookie. The cookie comes from an address that works once. On the local network, everything is sent as it is: use it where the
// people around may see what the page shows.
package web

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Style is the style sheet that all pages share.
//
//go:embed style.css
var Style string

// Options say what a server serves, and to whom.
type Options struct {
	// Name is the name of the pages in their cookie, such as "board".
	Name string
	// Port is where they are served; 0 is a free port.
	Port int
	// LAN also serves the local network, and not only this machine. Hosts are names that the machine has there, beyond its own name and its
	// addresses.
	LAN   bool
	Hosts []string
	// Home is the path of the page that an invitation leads to; / if empty.
	Home string
	// Pages answer whoever has the cookie.
	Pages http.Handler
	// Open are handlers that check for themselves who asks, by patterns of [http.ServeMux], such as "POST /events".
	Open map[string]http.Handler
	// Closing is called before the server waits for its last answers, to end those that would go on.
	Closing func()
}

// Server serves pages from [Listen] on, until Serve returns.
type Server struct {
	listener net.Listener
	server   *http.Server
	guard    *Guard
	hosts    []string
}

// Listen opens the port.
func Listen(ctx context.Context, o Options) (*Server, error) {
	address := "127.0.0.1"
	if o.LAN {
		address = ""
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(o.Port)))
	if err != nil {
		return nil, fmt.Errorf("listen for browsers: %w: choose another port, such as PORT=%d", err, o.Port+1)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	hosts := []string{"127.0.0.1", "localhost"}
	if o.LAN {
		hosts = append(hosts, own()...)
		hosts = append(hosts, o.Hosts...)
	}
	for i := range hosts {
		hosts[i] = net.JoinHostPort(strings.ToLower(hosts[i]), strconv.Itoa(port))
	}
	guard := NewGuard(fmt.Sprintf("%s-%d", o.Name, port), hosts)
	if o.Home != "" {
		guard.home = o.Home
	}
	server := &http.Server{
		Handler: guard.Handler(o.Pages, o.Open),
		// A stream may take as long as it likes to write, and sets its own deadlines.
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	if o.Closing != nil {
		server.RegisterOnShutdown(o.Closing)
	}
	return &Server{listener, server, guard, hosts}, nil
}

// own are the names and addresses that this machine has in the local network.
func own() []string {
	var all []string
	if name, err := os.Hostname(); err == nil {
		all = append(all, name)
		if !strings.Contains(name, ".") {
			all = append(all, name+".local")
		}
	}
	addresses, _ := net.InterfaceAddrs() // Without them, names remain.
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && !network.IP.IsLoopback() && !network.IP.IsLinkLocalUnicast() {
			all = append(all, network.IP.String())
		}
	}
	return all
}

// Invitation returns an address that opens the pages in one browser, once.
func (s *Server) Invitation() string { return "http://" + s.hosts[0] + s.guard.Invite() }

// URLs returns all addresses of the server, without a way in.
func (s *Server) URLs() []string {
	var all []string
	for _, host := range s.hosts {
		all = append(all, "http://"+host)
	}
	return all
}

// Serve answers until ctx is done, and then until what was asked before is answered, which it gives a few seconds.
func (s *Server) Serve(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(s.listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var err error
	if s.server.Shutdown(grace) != nil { // a browser that does not read, or that has opened a connection to spare
		err = s.server.Close()
	}
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}
