package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// request returns what the registry answers.
func request(t *testing.T, method, url, contentType string, body []byte) (status int, header http.Header, content []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if content, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, content
}

// A client pushes a blob and a manifest, and is told the digest by which nodes pull.
func TestPushAndPull(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "blobs")
	handler, err := newHandler(folder)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	const manifestType = "application/vnd.oci.image.manifest.v1+json"
	digest := func(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

	blob := []byte("a layer")
	name := server.URL + "/v2/operator-testbed/operator"
	if status, _, body := request(t, http.MethodPost, name+"/blobs/uploads/?digest="+digest(blob), "application/octet-stream", blob); status != http.StatusCreated {
		t.Fatalf("pushing a blob: %d: %s", status, body)
	}
	stored, err := os.ReadFile(filepath.Join(folder, "sha256", digest(blob)[len("sha256:"):]))
	if err != nil || !bytes.Equal(stored, blob) {
		t.Errorf("the folder holds %q, %v, expected the blob", stored, err)
	}
	if _, _, body := request(t, http.MethodGet, name+"/blobs/"+digest(blob), "", nil); !bytes.Equal(body, blob) {
		t.Errorf("pulled %q, expected the blob", body)
	}

	manifest := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":%q,"size":%d},"layers":[]}`,
		manifestType, digest(blob), len(blob))
	if status, _, body := request(t, http.MethodPut, name+"/manifests/latest", manifestType, manifest); status != http.StatusCreated {
		t.Fatalf("pushing a manifest: %d: %s", status, body)
	}
	_, header, _ := request(t, http.MethodHead, name+"/manifests/latest", "", nil)
	if got := header.Get("Docker-Content-Digest"); got != digest(manifest) {
		t.Errorf("the digest of the tag is %q, expected %q", got, digest(manifest))
	}
	if _, _, body := request(t, http.MethodGet, name+"/manifests/"+digest(manifest), "", nil); !bytes.Equal(body, manifest) {
		t.Errorf("pulled %q by its digest, expected the manifest", body)
	}
}
