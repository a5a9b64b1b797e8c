// Command kstatus reads an object as `kubectl get -o json` prints it, and prints the status that the library kstatus computes from it.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "kstatus:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	object := &unstructured.Unstructured{}
	if err := json.NewDecoder(in).Decode(object); err != nil {
		return fmt.Errorf("read the object: want the output of kubectl get -o json: %w", err)
	}
	result, err := status.Compute(object)
	if err != nil {
		return fmt.Errorf("compute the status: %w", err)
	}
	_, err = fmt.Fprintf(out, "%s: %s\n", result.Status, result.Message)
	return err
}
