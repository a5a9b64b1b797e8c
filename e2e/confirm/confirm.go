// Package confirm asks a user whether to do something that can't be undone.
package confirm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrDeclined is the answer no.
var ErrDeclined = errors.New("nothing was done: the answer was not yes")

// Ask prints the question, and returns nil when the user's answer is yes, or [ErrDeclined]. When ctx ends before that, it returns its
// cause.
func Ask(ctx context.Context, in io.Reader, out io.Writer, question string) error {
	fmt.Fprint(out, question)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(in).ReadString('\n') // the end of the input is an answer, too: no
		answer <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(out)
		return context.Cause(ctx)
	case line := <-answer:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		default:
			return ErrDeclined
		}
	}
}
