// Command terminal draws the output of a command as a picture of a terminal, in SVG: those lines of its input that the README
// shows below the same command, with the times and names of this run. A test compares the README with another run. With -all, it draws
// every line, of a command whose output a page shows in parts.
//
//	bin/testbed demo | go run ./docs/terminal -readme=README.md -command='make demo' >docs/demo.svg
//	kubectl get memcacheds --watch | head -n 5 | go run ./docs/terminal -all -command='kubectl get memcacheds --watch' >docs/quickstart.svg
package main

import (
	"flag"
	"fmt"
	"html"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	readme := flag.String("readme", "README.md", "the page that shows the command")
	all := flag.Bool("all", false, "draw every line, whatever the page shows")
	command := flag.String("command", "make demo", "the command, as the page shows it")
	flag.Parse()
	if err := run(*readme, *command, *all); err != nil {
		fmt.Fprintln(os.Stderr, "terminal:", err)
		os.Exit(1)
	}
}

// run draws what it reads.
func run(readme, command string, all bool) error {
	printed, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	if all {
		lines := append([]string{"$ " + command}, strings.Split(strings.TrimRight(string(printed), "\n"), "\n")...)
		_, err := io.WriteString(os.Stdout, svg(command, lines))
		return err
	}
	page, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	return draw(os.Stdout, command, string(page), string(printed))
}

// draw writes the picture.
func draw(w io.Writer, command, page, printed string) error {
	block, err := shown(page, command)
	if err != nil {
		return err
	}
	lines := []string{"$ " + command}
	for line := range strings.Lines(printed) {
		line = strings.TrimRight(line, "\n")
		if line == "" && lines[len(lines)-1] != "" || slices.Contains(block, plain(line)) && line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) < len(block)/2 {
		return fmt.Errorf("only %[2]d of the %[1]d lines that the page shows were printed: pipe the output of the command into this one", len(block), len(lines))
	}
	_, err = io.WriteString(w, svg(command, lines))
	return err
}

// shown returns the plain lines that a page shows below a command.
func shown(page, command string) ([]string, error) {
	_, block, found := strings.Cut(page, "```console\n$ "+command+"\n")
	block, _, closed := strings.Cut(block, "\n```")
	if !found || !closed {
		return nil, fmt.Errorf("the page has no console block that starts with %q", command)
	}
	var lines []string
	for line := range strings.Lines(block) {
		lines = append(lines, plain(strings.TrimRight(line, "\n")))
	}
	return lines, nil
}

// example replaces the placeholders of a page, for values that differ from run to run, with examples.
var example = strings.NewReplacer("…", "0.0", "<hash>", "a", "<number>", "0")

// value matches values that differ from run to run: a time, the name of a pod, a node.
var value = regexp.MustCompile(`[0-9]+\.[0-9]+ s\b|\bmemcached-sample-[a-z0-9]+-[a-z0-9]+|\bnode-[0-9]+`)

// plain returns a line without the values that differ from run to run, and with single blanks.
func plain(line string) string {
	line = value.ReplaceAllLiteralString(example.Replace(line), "~")
	return strings.Join(strings.Fields(line), " ")
}

// The dimensions of the picture, in pixels: of a character, of a line, and around them.
const (
	wide, high, margin = 8.0, 18, 16
)

// svg draws the lines. The picture has a size, so that a page shrinks it where it has to, and never stretches it.
func svg(title string, lines []string) string {
	columns := 0
	for _, line := range lines {
		columns = max(columns, len([]rune(line)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %d\" width=\"%.0[1]f\" height=\"%[2]d\" font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"13\" fill=\"#e8eaed\">\n",
		float64(columns)*wide+2*margin, len(lines)*high+2*margin)
	fmt.Fprintf(&b, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=\"#202124\"/>\n", html.EscapeString(title))
	for i, line := range lines {
		if line == "" {
			continue
		}
		fill := ""
		if i == 0 {
			fill = " fill=\"#8ab4f8\""
		}
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" xml:space=\"preserve\"%s>%s</text>\n", margin, margin+(i+1)*high-5, fill, html.EscapeString(line))
	}
	b.WriteString("</svg>\n")
	return b.String()
}
