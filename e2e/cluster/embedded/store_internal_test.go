package embedded

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/tier"
)

// packed returns a store that holds a write-ahead log with content and a database.
func packed(t *testing.T, content []byte) string {
	t.Helper()
	data := t.TempDir()
	for name, content := range map[string][]byte{"wal/0.wal": content, "snap/db": bytes.Repeat([]byte("database"), 1000)} {
		path := filepath.Join(data, "member", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	content, err := pack(data)
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(t.TempDir(), "store")
	if err := replace(store, content); err != nil {
		t.Fatal(err)
	}
	return store
}

func TestPackLeavesPreallocatedZerosOut(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	if err := unpack(packed(t, append([]byte("log"), make([]byte, 1<<20)...)), data); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(data, "member", "wal", "0.wal"))
	if err != nil {
		t.Fatal(err)
	}
	if want := append([]byte("log"), make([]byte, 4096)...); !bytes.Equal(log, want) {
		t.Errorf("the log has %d bytes and begins with %q; want %d bytes", len(log), log[:3], len(want))
	}
}

func TestUnpackThrowsDamagedStoresAway(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func([]byte) []byte{
		"a bit":   func(content []byte) []byte { content[len(content)-30] ^= 1; return content }, // of a name
		"the end": func(content []byte) []byte { return content[:len(content)/2] },
		"all":     func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, data := packed(t, []byte("log")), filepath.Join(t.TempDir(), "data")
			content, err := os.ReadFile(store)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(store, damage(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := unpack(store, data); err != nil {
				t.Errorf("unpack: %v; want no error, because etcd can begin with nothing", err)
			}
			for what, path := range map[string]string{"store": store, "data directory": data} {
				if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the %s is still there: %v", what, err)
				}
			}
		})
	}
}

func TestStoreKeyFollowsTheExecutables(t *testing.T) {
	t.Parallel()
	assets := t.TempDir()
	write := func(component, content string, at time.Time) {
		path := filepath.Join(assets, component)
		if err := errors.Join(os.WriteFile(path, []byte(content), 0o755), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	key := func() string {
		key, err := storeKey(assets)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	write(Etcd, "etcd", time.Unix(1, 0))
	write(KubeAPIServer, "api", time.Unix(1, 0))
	seen := map[string]string{key(): "at first"}
	for _, change := range []struct {
		what, component, content string
		second                   int64
	}{
		{"a longer etcd", Etcd, "etcd 2", 1},
		{"a newer kube-apiserver", KubeAPIServer, "api", 2},
	} {
		write(change.component, change.content, time.Unix(change.second, 0))
		if before, same := seen[key()]; same {
			t.Errorf("after %s the key is the same as %s", change.what, before)
		}
		seen[key()] = "after " + change.what
	}
	write(Kwok, "kwok", time.Unix(3, 0))
	if _, same := seen[key()]; !same {
		t.Error("the key follows kwok, which writes nothing into a store")
	}
}

// TestStoreHoldsNothingOfOneCluster runs etcd alone with a new store, and counts.
func TestStoreHoldsNothingOfOneCluster(t *testing.T) {
	tier.All(t)
	tier.NeedsEmbedded(t)
	t.Parallel()
	ctx := t.Context()
	assets, err := Assets(ctx, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	store, err := ensureStore(ctx, t.TempDir(), assets)
	if err != nil || store == "" {
		t.Fatalf("the store is %q, %v", store, err)
	}
	sup, err := supervisor.Start(ctx, supervisor.Options{Dir: filepath.Join(t.TempDir(), "group")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := sup.Shutdown(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()
	l := layout(sup.Dir())
	if err := errors.Join(os.Mkdir(l.etcd(), 0o700), unpack(store, l.etcdData()), sup.Run(ctx, process(Etcd, assets, l, 0))); err != nil {
		t.Fatal(err)
	}
	client := newEtcdClient(l.etcd())
	if err := client.untilUp(ctx); err != nil {
		t.Fatal(err)
	}
	holds, _, err := client.read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string]int{
		"/registry/namespaces/":                      4,
		"/registry/clusterroles/cluster-admin":       1,
		"/registry/serviceaccounts/":                 0,
		"/registry/secrets/":                         0,
		"/registry/minions/":                         0,
		"/registry/leases/":                          0,
		"/registry/configmaps/default/":              0,
		"/registry/apiextensions.k8s.io/":            0,
		"/registry/services/":                        0, // the Service "kubernetes" leads to a port
		"/registry/ipaddresses/":                     0, // or that Service can't be created
		"/registry/certificatesigningrequests/":      0,
		"/registry/configmaps/kube-system/extension": 0, // names the CA that signs clients' certificates
	} {
		got := 0
		for key := range holds {
			if strings.HasPrefix(key, prefix) {
				got++
			}
		}
		if got != want {
			t.Errorf("under %s the store holds %d objects, want %d", prefix, got, want)
		}
	}
}
