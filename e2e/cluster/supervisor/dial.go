package supervisor

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
)

// longestSocketPath is what the address of a Unix socket may hold, in bytes:
// 104 on macOS and 108 on Linux, with the final zero.
const longestSocketPath = 103

// dialer connects to the control socket in dir.
func dialer(dir string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		path := filepath.Join(dir, socketFile)
		if len(path) <= longestSocketPath {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
		// Only the path as given counts, so a link for the moment of the call
		// makes any folder reachable. $TMPDIR may itself be long; /tmp is
		// where POSIX says it is.
		short, err := os.MkdirTemp("/tmp", "testbed-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(short)
		link := filepath.Join(short, "dir")
		if err := os.Symlink(dir, link); err != nil {
			return nil, err
		}
		conn, err := new(net.Dialer).DialContext(ctx, "unix", filepath.Join(link, socketFile))
		return conn, errors.Join(err)
	}
}
