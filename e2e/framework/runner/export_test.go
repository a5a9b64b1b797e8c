package runner

import (
	"testing"
)

// WithdrawAfter has the endpoints of replicas that stop withdrawn when the channel is closed, until the test is over.
func WithdrawAfter(t *testing.T, closed <-chan struct{}) {
	t.Helper()
	before := withdrawal
	t.Cleanup(func() { withdrawal = before })
	withdrawal = func() { <-closed }
}
