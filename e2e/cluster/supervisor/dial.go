package supervisor

import (
	"context"
	"net"
	"os"
	"path/filepath"
)

// longestSocketPath is how many bytes the address of a Unix socket can hold: 104 on macOS and 108 on Linux, with the final zero.
const longestSocketPath = 103

// DialUnix connects to the Unix socket at path, however long that is.
func DialUnix(ctx context.Context, path string) (net.Conn, error) {
	if len(path) > longestSocketPath {
		// Only the path as given counts, so a link that exists during the call makes any directory reachable. $TMPDIR may itself be
		// long; /tmp is where POSIX says it is.
		short, err := os.MkdirTemp("/tmp", "testbed-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(short)
		link := filepath.Join(short, "dir")
		if err := os.Symlink(filepath.Dir(path), link); err != nil {
			return nil, err
		}
		path = filepath.Join(link, filepath.Base(path))
	}
	return new(net.Dialer).DialContext(ctx, "unix", path)
}
