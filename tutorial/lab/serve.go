package lab

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/tutorial/internal/board"
	"github.com/example/operator-testbed/tutorial/internal/class"
)

// newServe returns the command that serves the live board of a class.
func newServe(dir *string) *cobra.Command {
	var port, lan string
	serve := &cobra.Command{
		Use: "serve", Short: "Show who is where, and who is stuck", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return serveBoard(command.Context(), *dir, port, lan != "")
		},
	}
	serve.Flags().StringVar(&port, "port", "", "the port; that of the board in class.yaml if empty")
	serve.Flags().StringVar(&lan, "lan", "", "accept other machines of the local network; only this machine if empty")
	serve.Flags().Lookup("lan").NoOptDefVal = "yes"
	return serve
}

func serveBoard(ctx context.Context, dir, port string, lan bool) error {
	c, err := class.Read(".", dir)
	if err != nil {
		return err
	}
	options, err := boardOf(c, port, lan)
	if err != nil {
		return err
	}
	options.Out = os.Stdout
	return board.Serve(ctx, options)
}

// boardOf returns the board of a class. Without a port, it is where the copies report to.
func boardOf(c *class.Class, port string, lan bool) (board.ServeOptions, error) {
	o := board.ServeOptions{Title: c.Name, Dir: c.Dir, LAN: lan}
	address, err := url.Parse(c.Board)
	if err != nil {
		return o, err
	}
	if host := address.Hostname(); host != "" {
		o.Hosts = []string{host}
	}
	text := cmp.Or(port, address.Port(), strconv.Itoa(board.Port))
	if o.Port, err = strconv.Atoi(text); err != nil || o.Port < 1 || o.Port > 65535 {
		return o, fmt.Errorf("PORT=%s is not a port: give one such as %d", text, board.Port)
	}
	for _, s := range c.Students {
		o.Students = append(o.Students, board.Student{ID: s.ID, Name: s.Name, Token: c.Token(s)})
	}
	return o, nil
}
