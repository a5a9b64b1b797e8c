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
	path, done, err := reachable(path)
	if err != nil {
		return nil, err
	}
	defer done()
	return new(net.Dialer).DialContext(ctx, "unix", path)
}

// ListenUnix listens on a Unix socket at path, however long that is.
func ListenUnix(path string) (net.Listener, error) {
	path, done, err := reachable(path)
	if err != nil {
		return nil, err
	}
	defer done()
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // the path may mean nothing by then
	return listener, nil
}

// reachable returns a path of a Unix socket that is short enough, which is valid until done is called. Only the path as given counts, so a
// link that exists during a call makes any directory reachable.
func reachable(path string) (short string, done func(), err error) {
	if len(path) <= longestSocketPath {
		return path, func() {}, nil
	}
	// $TMPDIR may itself be long; /tmp is where POSIX says it is.
	dir, err := os.MkdirTemp("/tmp", "testbed-")
	if err != nil {
		return "", nil, err
	}
	done = func() { _ = os.RemoveAll(dir) }
	link := filepath.Join(dir, "dir")
	if err := os.Symlink(filepath.Dir(path), link); err != nil {
		done()
		return "", nil, err
	}
	return filepath.Join(link, filepath.Base(path)), done, nil
}
