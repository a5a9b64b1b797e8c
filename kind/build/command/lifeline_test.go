package command

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// TestEndOfParent needs a process whose parent exits: the test's own executable
// starts itself again in these roles.
const role = "COMMAND_TEST_ROLE"

// playRole returns in the test.
func playRole() {
	switch os.Getenv(role) {
	case "parent": // starts a child and exits as soon as it watches
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), role+"=child")
		watching, err := child.StdoutPipe()
		if err != nil {
			panic(err)
		}
		child.Stderr = os.Stdout
		if err := child.Start(); err != nil {
			panic(err)
		}
		_, _ = bufio.NewReader(watching).ReadString('\n')
		os.Exit(0)
	case "child":
		parent := os.Getppid()
		fmt.Println("watching")
		watchParent(parent, func(err error) { fmt.Fprintln(os.Stderr, err) })
		os.Exit(0)
	}
}

func TestEndOfInput(t *testing.T) {
	input, other, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go watchInput(input, func(err error) { gone <- err })
	if _, err := other.WriteString("still here\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-gone:
		t.Errorf("input counts as its end: %v", err)
	default:
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-gone; !errors.Is(err, errGone) {
		t.Errorf("got %v, expected errGone", err)
	}
}

func TestEndOfParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), role+"=parent")
	// The child inherits the pipe, so reading it to its end waits for the child.
	out, err := parent.Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != errGone.Error()+"\n" {
		t.Errorf("the child said %q, expected %q", out, errGone)
	}
}
