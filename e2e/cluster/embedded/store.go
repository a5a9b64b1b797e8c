package embedded

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/host/home"
)

// A store is the data directory of an etcd, in a ZIP archive behind its SHA-256: what a new kube-apiserver writes into an empty one, some 200 objects
// such as the default ClusterRoles, and nothing else. A cluster that starts with a copy saves kube-apiserver writing them, which
// is a sixth of the CPU time of the whole start.
//
// Clusters that start with the same store share the identities of these objects, the UIDs of the namespaces default and
// kube-system among them. They share no key, no token and no user: those are made for each cluster (newPKI, newUsers), and a store
// holds no ServiceAccount and no Secret.

// storesDir is the directory that holds the stores.
func (o options) storesDir() (string, error) {
	if o.stores != "" {
		return o.stores, nil
	}
	cache, err := home.Cache()
	return filepath.Join(cache, "stores"), err
}

// storeKey identifies what decides about the contents of a store: the executables and their flags.
func storeKey(assets string) (string, error) {
	hash := sha256.New()
	for _, component := range []string{Etcd, KubeAPIServer} {
		path, err := filepath.EvalSymlinks(filepath.Join(assets, component))
		if err != nil {
			return "", err
		}
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(hash, path, info.Size(), info.ModTime().UnixNano())
	}
	fmt.Fprintf(hash, "%q %q", etcdFlags(), apiserverFlags("", 0))
	return fmt.Sprintf("%x", hash.Sum(nil)[:10]), nil
}

// ensureStore returns the path of the store for the executables in assets, and makes it if it is missing. The path is empty where
// there can be none: where the directory can't be written, or while another process makes the store.
func ensureStore(ctx context.Context, stores, assets string) (string, error) {
	key, err := storeKey(assets)
	if err != nil {
		return "", err
	}
	path := filepath.Join(stores, key+".store")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if !writable(stores) {
		return "", nil
	}
	content, err := makeStore(ctx, assets, path)
	if err == nil {
		err = replace(path, content)
	}
	if err == nil {
		return path, nil
	}
	// Whatever else is wrong, the start of the cluster itself meets it too and explains it.
	return "", context.Cause(ctx)
}

// writable reports whether files can be made in a directory, which is made if it is missing.
func writable(dir string) bool {
	return os.MkdirAll(dir, 0o755) == nil && unix.Access(dir, unix.W_OK) == nil
}

// replace writes a file as a whole: a reader never sees half of it.
func replace(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), "")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Chmod(0o644), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// makeStore runs etcd and kube-apiserver alone until that has written everything, stops both, and returns the content of the
// store, which is going to be at path.
func makeStore(ctx context.Context, assets, path string) (content []byte, err error) {
	dir, err := clustersDir()
	if err != nil {
		return nil, err
	}
	// A name that no cluster can have, one for each store. Whoever comes second gets supervisor.ErrRunning.
	l := layout(filepath.Join(dir, fmt.Sprintf(".store-%x", sha256.Sum256([]byte(path)))))
	sup, err := supervisor.Start(ctx, supervisor.Options{Dir: string(l)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sup.Shutdown(context.WithoutCancel(ctx))) }()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()

	s := &starter{options: defaults(), name: "store", layout: l, assets: assets, sup: sup}
	etcd := process(Etcd, assets, l, 0)
	etcd.Grace = startLimit // it completes its files
	err = inOrder(ctx, s.prepare,
		func(ctx context.Context) error { return sup.Run(ctx, etcd) }, s.while(s.startAPI, Etcd),
		s.while(func(ctx context.Context) error { return untilOK(ctx, s.config, "/readyz") }, Etcd, KubeAPIServer),
		func(ctx context.Context) error { return sup.Stop(ctx, KubeAPIServer) },
		func(ctx context.Context) error { return forget(ctx, l.etcd()) },
		func(ctx context.Context) error { return sup.Stop(ctx, Etcd) },
	)
	if err != nil {
		return nil, err
	}
	return pack(l.etcdData())
}

// ownKeys begin the keys of what each API server writes about itself.
var ownKeys = []string{
	"/registry/leases/",                           // it says that it lives, under the name of its machine
	"/registry/services/specs/default/kubernetes", // leads to its port; it corrects that, but gives up after the first try
	"/registry/ipaddresses/",                      // of that Service, which can't be created while its address is taken
}

// forget deletes what is about one API server. dir is etcd's directory.
func forget(ctx context.Context, dir string) error {
	client := newEtcdClient(dir)
	for _, prefix := range ownKeys {
		if err := client.call(ctx, "kv/deleterange", map[string]any{"key": []byte(prefix), "range_end": after(prefix)}, &struct{}{}); err != nil {
			return err
		}
	}
	return nil
}

// after is the first key behind those that begin with prefix.
func after(prefix string) []byte {
	end := []byte(prefix)
	end[len(end)-1]++
	return end
}

// pack returns the content of a store, from the data directory of a stopped etcd.
func pack(data string) ([]byte, error) {
	logs, err := filepath.Glob(filepath.Join(data, "member", "wal", "*"))
	if err != nil {
		return nil, err
	}
	for _, log := range logs {
		if err := truncate(log); err != nil {
			return nil, err
		}
	}
	var content bytes.Buffer
	archive := zip.NewWriter(&content)
	if err := errors.Join(archive.AddFS(os.DirFS(data)), archive.Close()); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content.Bytes())
	return append(sum[:], content.Bytes()...), nil
}

// truncate takes the zeros from the end of a write-ahead log. etcd preallocates 64 MB and reads up to the first zeros; some stay.
func truncate(log string) error {
	const stay = 4096
	content, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	used := len(bytes.TrimRight(content, "\x00"))
	return os.Truncate(log, int64(min(len(content), used+stay)))
}

// unpack makes the data directory of an etcd from a store. A store that is damaged is thrown away: there is no data directory
// then, and etcd begins with nothing.
func unpack(store, data string) error {
	content, err := os.ReadFile(store)
	if err == nil {
		err = copyStore(data, content)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC):
		return err
	default: // it is damaged
		_ = os.Remove(store) // or it stays, and is as useless the next time
		return os.RemoveAll(data)
	}
}

var errDamaged = errors.New("its checksum is wrong")

// copyStore makes the data directory from the content of a store.
func copyStore(data string, content []byte) error {
	if len(content) < sha256.Size || sha256.Sum256(content[sha256.Size:]) != [sha256.Size]byte(content[:sha256.Size]) {
		return errDamaged
	}
	archive, err := zip.NewReader(bytes.NewReader(content[sha256.Size:]), int64(len(content)-sha256.Size))
	if err != nil {
		return err
	}
	return os.CopyFS(data, archive)
}
