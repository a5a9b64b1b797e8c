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

// What was pushed is there when the registry starts again: by its digest also where the tag has another image by now, and as a
// part of an index, which is refused before its images are there. What was deleted is not.
func TestRestart(t *testing.T) {
	const imageType, indexType = "application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.index.v1+json"
	folder := t.TempDir()
	start := func() string {
		handler, err := newHandler(folder)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		return server.URL + "/v2/team/operator/manifests/"
	}
	digest := func(content string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content))) }
	image := func(label string) string {
		return fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"annotations":{"image":%q},"layers":[]}`, imageType, label)
	}
	index := func(of string) string {
		return fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"manifests":[{"mediaType":%q,"digest":%q,"size":%d}]}`, indexType, imageType, digest(of), len(of))
	}
	old, now, gone := image("old"), image("now"), image("gone")

	url := start()
	push := func(reference, contentType, content string, want int) {
		t.Helper()
		if status, _, body := request(t, http.MethodPut, url+reference, contentType, []byte(content)); status != want {
			t.Fatalf("pushing %s: %d: %s", reference, status, body)
		}
	}
	push("too-early", indexType, index(old), http.StatusNotFound)
	push("v1", imageType, old, http.StatusCreated)
	push("v1", imageType, now, http.StatusCreated)
	indexes := []string{"a", "b", "c", "d", "e", "f", "g", "h"} // some are found before the image
	for _, tag := range indexes {
		push(tag, indexType, index(old), http.StatusCreated)
	}
	push("none", imageType, gone, http.StatusCreated)
	if status, _, _ := request(t, http.MethodDelete, url+"none", "", nil); status != http.StatusAccepted {
		t.Fatalf("deleting: %d", status)
	}

	for range 2 { // what is told again is kept again
		url = start()
		expected := map[string]string{"v1": now, digest(old): old, digest(now): now, digest(index(old)): index(old), "none": "", "too-early": ""}
		for _, tag := range indexes {
			expected[tag] = index(old)
		}
		for reference, want := range expected {
			status, header, body := request(t, http.MethodGet, url+reference, "", nil)
			if want == "" {
				if status != http.StatusNotFound {
					t.Errorf("%s: %d: %s", reference, status, body)
				}
			} else if string(body) != want || header.Get("Docker-Content-Digest") != digest(want) {
				t.Errorf("%s is %s, expected %s", reference, body, want)
			}
		}
		if _, header, _ := request(t, http.MethodGet, url+indexes[0], "", nil); header.Get("Content-Type") != indexType {
			t.Errorf("the index is a %s", header.Get("Content-Type"))
		}
	}
}

// Who is told that a manifest is there can rely on it.
func TestFullDisk(t *testing.T) {
	folder := t.TempDir()
	handler, err := newHandler(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(folder, "manifests")); err != nil { // as good as full
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	status, _, _ := request(t, http.MethodPut, server.URL+"/v2/team/operator/manifests/v1", "application/vnd.oci.image.manifest.v1+json", []byte(`{"schemaVersion":2}`))
	if status != http.StatusInternalServerError {
		t.Errorf("a manifest that can't be kept: %d", status)
	}
}
