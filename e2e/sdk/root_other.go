//go:build !linux

package sdk

import (
	"context"
	"errors"
)

// runInRoot fails: only Linux lets a user run a program with another root directory.
func runInRoot(context.Context, string, string, ...string) ([]byte, error) {
	return nil, errors.New("scorecard's tests can only be run on Linux without a cluster: on other systems, type operator-sdk scorecard on a kind cluster")
}
