package runner

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
)

// Build compiles the main package pkg, as seen from the folder dir, to the file binary. Extra build flags, such as -overlay,
// come last. The compiler's words are part of the error.
func Build(ctx context.Context, dir, pkg, binary string, flags ...string) error {
	// Without the commit in it, the executable changes only when the code does.
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", binary}, flags...)
	build := exec.CommandContext(ctx, "go", append(args, pkg)...)
	build.Dir = dir
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // the same on machines with and without a C compiler
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s in %s: %w\n%s", pkg, dir, err, bytes.TrimSpace(out))
	}
	return nil
}
