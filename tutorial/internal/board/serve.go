package board

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/example/operator-testbed/tutorial/internal/web"
)

// Port is where a board is served unless the teacher chooses another port. Copies report there from the hand-out on, so it stays the
// same.
const Port = 8090

// ServeOptions say where a board is served.
type ServeOptions struct {
	// Title is the name of the class, and Dir its directory.
	Title, Dir string
	Students   []Student
	// Port is where it is served; 0 is a free port.
	Port int
	// LAN lets other machines in, and Hosts are further names of this one.
	LAN   bool
	Hosts []string
	// Out is where the addresses are printed.
	Out io.Writer
}

// Serve serves the board of a class until ctx is done.
func Serve(ctx context.Context, o ServeOptions) (err error) {
	file := filepath.Join(o.Dir, "board", "events.jsonl")
	b, err := Open(Options{Title: o.Title, Students: o.Students, File: file, Now: time.Now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	server, err := web.Listen(ctx, web.Options{
		Name: "board", Port: o.Port, LAN: o.LAN, Hosts: o.Hosts, Pages: b.Pages(), Open: b.Reports(), Closing: b.EndStreams,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "The board of %s, with %d students. Open this address in one browser, once:\n  %s\n", o.Title, len(o.Students), server.Invitation())
	if o.LAN {
		fmt.Fprintf(o.Out, "Copies report to what class.yaml says of the board when they are handed out. It may say one of these:\n  %s\n", strings.Join(server.URLs()[2:], "\n  "))
		fmt.Fprintln(o.Out, "Nothing is encrypted: everybody in this network who looks can read reports, and the board.")
	} else {
		fmt.Fprintln(o.Out, "Only this machine can reach it. LAN=yes lets the copies of other machines report.")
	}
	fmt.Fprintf(o.Out, "Ctrl-C stops the board. What was reported stays in %s.\n", file)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return server.Serve(ctx) })
	group.Go(func() error { return b.Run(ctx) })
	return group.Wait()
}
