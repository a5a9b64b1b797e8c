package embedded

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// etcdSocket is the file of etcd's client socket, in its folder.
var etcdSocket = strings.TrimPrefix(etcdClientURL, "unix://")

// Compact makes etcd forget what was before now: of each object, the last
// version is left. An API server does so every five minutes.
//
// A watch that has kept up goes on, so nobody notices while every connection
// stays. But one that breaks can't be resumed, not even by who had seen
// everything: the revision that is compacted is younger than any that a client
// knows. Restart etcd to break kube-apiserver's, which then begins its watch
// cache anew and tells its own clients 410 Gone. One that is not paused
// meanwhile may have caught up in time.
func (p *Provider) Compact(ctx context.Context) error {
	if p.sup == nil {
		return fmt.Errorf("compact etcd: %w", &NotUpError{Name: p.name})
	}
	if err := compact(ctx, p.layout.etcd()); err != nil {
		return fmt.Errorf("compact etcd of the embedded cluster %s: %w", p.name, err)
	}
	return nil
}

// compact speaks etcd's JSON (grpc-gateway), in which bytes are in base64 and
// 64-bit integers are strings, on the socket in etcd's folder.
func compact(ctx context.Context, dir string) error {
	// The path of a socket may have no more than 104 bytes.
	short, err := os.MkdirTemp("", "etcd-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(short)
	link := filepath.Join(short, "d")
	if err := os.Symlink(dir, link); err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(link, etcdSocket))
		},
	}}
	defer client.CloseIdleConnections()

	// Who has seen all of it resumes at the next revision: it must be gone, too.
	var answer struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	for range 2 {
		if err := call(ctx, client, "kv/put", map[string]any{"key": []byte("compacted")}, &answer); err != nil {
			return err
		}
	}
	return call(ctx, client, "kv/compaction", map[string]any{"revision": answer.Header.Revision, "physical": true}, &struct{}{})
}

// call makes a request of etcd's API, version 3.
func call(ctx context.Context, client *http.Client, path string, body, answer any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://etcd/v3/"+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err = io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", path, response.Status, content)
	}
	return json.Unmarshal(content, answer)
}
