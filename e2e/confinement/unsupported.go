//go:build !linux || (!amd64 && !arm64)

package confinement

import (
	"fmt"
	"runtime"
)

func become(r Rules, program []string) error {
	if r.Optional {
		return unconfined(r, program)
	}
	_, err := supported()
	return err
}

func supported() (int, error) {
	return 0, fmt.Errorf("programs can't be confined on %s/%s: use Linux on amd64 or arm64", runtime.GOOS, runtime.GOARCH)
}

// Version returns the version of Landlock that the kernel has, or 0 if it has none.
func Version() int { return 0 }
