package manifests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/example/operator-testbed/tutorial/internal/isolation"
)

// command is the first argument by which this program knows that it is to render.
const command = "grade-render"

// Main renders the manifests in a directory, prints them as JSON and exits, if this process was started by [RenderIn]. In every other
// process it returns at once. Call it in main, or in TestMain, before flags are parsed.
func Main() {
	if len(os.Args) != 3 || os.Args[1] != command {
		return
	}
	if err := printRendered(os.Args[2], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// printed is what Main prints.
type printed struct {
	Rendered
	RefusedError RefusedError `json:"refusal,omitempty"`
}

func printRendered(config string, out io.Writer) error {
	r, err := Render(config)
	p := printed{Rendered: r}
	if err != nil && !errors.As(err, &p.RefusedError) {
		return err
	}
	return json.NewEncoder(out).Encode(p)
}

// Cell runs the renderer.
type Cell interface {
	Run(ctx context.Context, c isolation.Command) (isolation.Usage, error)
}

// RenderIn is [Render] in a cell, because kustomize was not written for manifests that are hostile. The program has to call [Main].
func RenderIn(ctx context.Context, c Cell, config string, limits isolation.Limits) (Rendered, error) {
	self, err := os.Executable()
	if err != nil {
		return Rendered{}, err
	}
	var out, said limited
	// Without PATH, kustomize finds no git, and no other program.
	usage, err := c.Run(ctx, isolation.Command{
		Args: []string{self, command, config}, Dir: config, Env: []string{"PATH=", "HOME=/"}, Stdout: &out, Stderr: &said,
		Readable: []string{self, config}, Limits: limits,
	})
	switch {
	case err != nil:
		return Rendered{}, fmt.Errorf("render the manifests: %w", err)
	case usage.Exceeded != "":
		return Rendered{}, refuse("rendering config was stopped, because it exceeded the limit of %s", usage.Exceeded)
	case usage.Exit == crashed:
		return Rendered{}, refuse("config can't be rendered: kustomize crashes on it (%s)", firstLine(said.text))
	case out.cut:
		return Rendered{}, refuse("config can't be rendered: what comes out is larger than %d MiB", mostOutput>>20)
	case usage.Exit != 0:
		return Rendered{}, fmt.Errorf("render the manifests: exit code %d: %s", usage.Exit, said.text)
	}
	var p printed
	if err := json.Unmarshal(out.text, &p); err != nil {
		return Rendered{}, fmt.Errorf("render the manifests: %w", err)
	}
	if p.RefusedError != "" {
		return Rendered{}, p.RefusedError
	}
	return p.Rendered, nil
}

// crashed is the exit code of a Go program with an error that nothing can recover from, such as a stack that overflows.
const crashed = 2

// mostOutput is how many bytes are read of what was rendered: twice as much as there may be to read.
const mostOutput = 2 * mostBytes

// limited keeps the first bytes of what is written, and whether there were more.
type limited struct {
	text []byte
	cut  bool
}

// Write takes everything.
func (l *limited) Write(p []byte) (int, error) {
	kept := p[:min(len(p), mostOutput-len(l.text))]
	l.text, l.cut = append(l.text, kept...), l.cut || len(kept) < len(p)
	return len(p), nil
}

// firstLine is how a message starts.
func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return line
}
