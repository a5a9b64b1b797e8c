package embedded

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// etcdClient speaks etcd's JSON (grpc-gateway), in which bytes are in base64 and 64-bit integers are strings.
type etcdClient struct{ http *http.Client }

// newEtcdClient returns a client for the etcd whose socket is in the directory dir.
func newEtcdClient(dir string) etcdClient {
	socket := filepath.Join(dir, strings.TrimPrefix(etcdClientURL, "unix://"))
	return etcdClient{&http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, // so there is nothing to close
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return supervisor.DialUnix(ctx, socket) },
	}}}
}

// send makes a request of etcd's API, version 3. Close the answer's body.
func (c etcdClient) send(ctx context.Context, path string, body any) (*http.Response, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://etcd/v3/"+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	content, err = io.ReadAll(response.Body)
	return nil, errors.Join(fmt.Errorf("%s: %s: %s", path, response.Status, content), err)
}

// call makes a request and decodes the answer.
func (c etcdClient) call(ctx context.Context, path string, body, answer any) error {
	response, err := c.send(ctx, path, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(answer)
}

// header is in every answer.
type header struct {
	Revision int64 `json:"revision,string"`
}

// Everything that kube-apiserver stores is between these keys.
const (
	registry    = "/registry/"
	registryEnd = "/registry0" // '0' follows '/'
)

// contents are what etcd holds, by key.
type contents map[string]stored

// stored is a value in etcd.
type stored struct {
	Value []byte `json:"value"`
	// Created and Modified are revisions: all that is written later has a
	// greater one.
	Created  int64 `json:"create_revision,string"`
	Modified int64 `json:"mod_revision,string"`
}

// read returns everything that kube-apiserver has stored, and the revision at
// which it was so.
func (c etcdClient) read(ctx context.Context) (contents, int64, error) {
	var answer struct {
		Header header `json:"header"`
		Pairs  []struct {
			Key []byte `json:"key"`
			stored
		} `json:"kvs"`
	}
	body := map[string]any{"key": []byte(registry), "range_end": []byte(registryEnd)}
	if err := c.call(ctx, "kv/range", body, &answer); err != nil {
		return nil, 0, fmt.Errorf("read etcd: %w", err)
	}
	all := make(contents, len(answer.Pairs))
	for _, pair := range answer.Pairs {
		all[string(pair.Key)] = pair.stored
	}
	return all, answer.Header.Revision, nil
}

// untilUp returns when etcd answers, after a start.
func (c etcdClient) untilUp(ctx context.Context) error {
	var err error
	for range watch.Poll(ctx, healthPoll) {
		if err = c.call(ctx, "maintenance/status", struct{}{}, &struct{}{}); err == nil {
			return nil
		}
	}
	return fmt.Errorf("etcd does not answer: %w", err)
}

// changed returns when kube-apiserver has stored something after the revision.
func (c etcdClient) changed(ctx context.Context, revision int64) error {
	response, err := c.send(ctx, "watch", map[string]any{"create_request": map[string]any{
		"key": []byte(registry), "range_end": []byte(registryEnd), "start_revision": revision + 1,
	}})
	if err != nil {
		return fmt.Errorf("watch etcd: %w", err)
	}
	defer response.Body.Close()
	for answers := json.NewDecoder(response.Body); ; {
		var answer struct {
			Result struct {
				Events []json.RawMessage `json:"events"`
			} `json:"result"`
		}
		if err := answers.Decode(&answer); err != nil {
			return fmt.Errorf("watch etcd: %w", err)
		}
		if len(answer.Result.Events) > 0 {
			return nil
		}
	}
}

// What etcd takes in one transaction: that many operations, and 1.5 MiB.
const (
	maxOperations = 128
	maxBytes      = 1 << 20
)

// apply makes the changes, in their order, in as few transactions as may be.
func (c etcdClient) apply(ctx context.Context, changes []change) error {
	for len(changes) > 0 {
		n := batch(changes)
		var operations []map[string]any
		for _, change := range changes[:n] {
			if change.value == nil {
				operations = append(operations, map[string]any{"request_delete_range": map[string]any{"key": []byte(change.key)}})
			} else {
				operations = append(operations, map[string]any{"request_put": map[string]any{"key": []byte(change.key), "value": change.value}})
			}
		}
		if err := c.call(ctx, "kv/txn", map[string]any{"success": operations}, &struct{}{}); err != nil {
			return fmt.Errorf("write to etcd: %w", err)
		}
		changes = changes[n:]
	}
	return nil
}

// batch returns how many of the changes, at least one, fit in a transaction.
func batch(changes []change) int {
	size := 0
	for i, change := range changes {
		size += len(change.key) + len(change.value)
		if i > 0 && (i == maxOperations || size > maxBytes) {
			return i
		}
	}
	return len(changes)
}
