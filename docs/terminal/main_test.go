package main

import (
	"bytes"
	"html"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const page = "# A page\n\n```console\n$ make demo\n...\n     … s  Cluster     is ready\n...\n└─ Pod memcached-sample-<hash>-<hash>   Ready on node-<number>\ndone (after … s)\n```\n"

const printed = "     0.2 s  Build       something\n     1.5 s  Cluster     is ready\n\n\n└─ Pod memcached-sample-7d9f8-abcde   Ready on node-2\ndone (after 12.4 s)\n"

func TestDraw(t *testing.T) {
	var out bytes.Buffer
	if err := draw(&out, "make demo", page, printed); err != nil {
		t.Fatal(err)
	}
	want := []string{"$ make demo", "     1.5 s  Cluster     is ready", "└─ Pod memcached-sample-7d9f8-abcde   Ready on node-2", "done (after 12.4 s)"}
	if got := words(out.String()); !slices.Equal(got, want) {
		t.Errorf("expected the lines that the page shows\n%q, got\n%q", want, got)
	}
	for printed, of := range map[string]string{"": page, printed: "# Another page\n"} {
		if err := draw(&out, "make demo", of, printed); err == nil {
			t.Errorf("expected an error, of %q and %q", of, printed)
		}
	}
}

// TestPictureOfTheDemo compares the picture with the lines that the README shows below the same command. Another test compares
// these lines with a run.
func TestPictureOfTheDemo(t *testing.T) {
	picture, err := os.ReadFile("../demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block, err := shown(string(readme), "make demo")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range words(string(picture))[1:] { // behind the command
		got = append(got, plain(line))
	}
	var want []string
	for _, line := range block {
		if line != "..." && line != "" {
			want = append(want, line)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("make demo-picture draws it again: expected\n%s\ngot\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}

// TestPictureOfTheQuickStart compares the picture with what the quick start shows: all but the age of the object, which is the last column.
func TestPictureOfTheQuickStart(t *testing.T) {
	picture, err := os.ReadFile("../quickstart.svg")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../tutorial/quickstart/README.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := words(string(picture))
	if len(lines) < 5 {
		t.Errorf("the picture has %d lines, expected a command and what it prints while a Memcached is broken and repaired", len(lines))
	}
	for i, line := range lines {
		if i > 0 { // behind the command
			line = line[:strings.LastIndex(line, " ")]
		}
		if !strings.Contains(string(page), strings.TrimPrefix(line, "$ ")) {
			t.Errorf("the picture shows %q, expected only what the quick start shows", line)
		}
	}
}

// words returns the lines of text in a picture.
func words(picture string) []string {
	var lines []string
	for _, match := range regexp.MustCompile(`<text [^>]*>([^<]*)</text>`).FindAllStringSubmatch(picture, -1) {
		lines = append(lines, html.UnescapeString(match[1]))
	}
	return lines
}
