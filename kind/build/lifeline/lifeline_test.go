package lifeline

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// The parent test needs a process whose parent ends: the test's own executable
// starts itself again in these roles.
const role = "LIFELINE_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "parent": // starts a child and ends as soon as it watches
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
	case "child":
		gone := make(chan error)
		WatchParent(context.Background(), func(err error) { gone <- err })
		fmt.Println("watching")
		fmt.Fprintln(os.Stderr, <-gone)
	default:
		os.Exit(m.Run())
	}
}

func TestEndOfInput(t *testing.T) {
	input, other, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	WatchInput(input, func(err error) { gone <- err })
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
	if err := <-gone; !errors.Is(err, ErrGone) {
		t.Errorf("got %v, expected ErrGone", err)
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
	if string(out) != ErrGone.Error()+"\n" {
		t.Errorf("the child said %q, expected %q", out, ErrGone)
	}
}
