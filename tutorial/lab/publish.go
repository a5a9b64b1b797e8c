package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/e2e/host/home"
	"github.com/example/operator-testbed/tutorial/internal/hugo"
)

// newPublish returns the command that makes the site of the pages: make site, make site-serve.
func newPublish() *cobra.Command {
	var base, out string
	var serve bool
	publish := &cobra.Command{
		Use: "publish", Short: "Make the site of the tutorial and the documentation", Args: cobra.NoArgs, Hidden: true,
		RunE: func(command *cobra.Command, _ []string) error {
			site, err := siteIn(out, base)
			if err != nil {
				return err
			}
			if serve {
				return serveSite(command.Context(), site, os.Stdout)
			}
			return makeSite(command.Context(), site, os.Stdout)
		},
	}
	publish.Flags().StringVar(&base, "base", "/", "the path or the address at which the site is served")
	publish.Flags().StringVar(&out, "out", filepath.Join("bin", "site"), "the directory of the site")
	publish.Flags().BoolVar(&serve, "serve", false, "show it on this machine")
	return publish
}

// siteIn returns the site of this repository's pages in a directory.
func siteIn(out, base string) (hugo.Site, error) {
	links, err := hugo.Base(base)
	if err != nil {
		return hugo.Site{}, err
	}
	cache, err := home.Cache()
	if err != nil {
		return hugo.Site{}, err
	}
	return hugo.Site{Root: ".", Pages: writePages, Base: links, Out: out, Unpacked: filepath.Join(cache, "site"), Progress: os.Stderr}, nil
}

// writePages writes the pages for Hugo.
func writePages(ctx context.Context, directory string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	pages := exec.CommandContext(ctx, self, "lab", "site", "--out", directory)
	pages.Stderr = os.Stderr
	return pages.Run()
}

func makeSite(ctx context.Context, site hugo.Site, out io.Writer) error {
	begin := time.Now()
	from, err := site.Make(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the site is in %s: %s (%.1f s)\n", site.Out, from, time.Since(begin).Seconds())
	return nil
}

func serveSite(ctx context.Context, site hugo.Site, out io.Writer) error {
	if err := makeSite(ctx, site, out); err != nil {
		return err
	}
	return site.Serve(ctx, func(address string) {
		fmt.Fprintf(out, "Only this machine can reach it:\n  %s\nReload a page to see your changes to its Markdown. Ctrl-C stops the server.\n", address)
	})
}
