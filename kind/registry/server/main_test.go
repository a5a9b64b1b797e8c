package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

const (
	imageType  = "application/vnd.oci.image.manifest.v1+json"
	indexType  = "application/vnd.oci.image.index.v1+json"
	configType = "application/vnd.oci.image.config.v1+json"
)

// start starts a registry that keeps what it has in a directory, and returns the
// URL of a repository in it.
func start(t *testing.T, directory string) string {
	t.Helper()
	server := httptest.NewServer(newHandler(t.Context(), directory))
	t.Cleanup(server.Close)
	return server.URL + "/v2/team/operator/"
}

// request returns the registry's response.
func request(t *testing.T, method, url, contentType string, body []byte) (status int, header http.Header, content []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header["Accept"] = []string{imageType, indexType}
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

func digest(content string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content))) }

// pushBlob pushes a blob as clients do: they ask where to upload it to.
func pushBlob(t *testing.T, repository, content string) int {
	t.Helper()
	status, header, body := request(t, http.MethodPost, repository+"blobs/uploads/", "", nil)
	if status != http.StatusAccepted {
		t.Logf("starting an upload: %d: %s", status, body)
		return status
	}
	status, _, _ = request(t, http.MethodPut, header.Get("Location")+"&digest="+digest(content), "application/octet-stream", []byte(content))
	return status
}

// What was pushed is there when the registry starts again: by its digest also where
// the tag has another image by then, and as a part of an index, which is refused
// before its images are there. What was deleted is not.
func TestRestart(t *testing.T) {
	const config = "{}"
	image := func(label string) string {
		return fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":%q,"digest":%q,"size":%d},"layers":[],"annotations":{"image":%q}}`,
			imageType, configType, digest(config), len(config), label)
	}
	index := func(of string) string {
		return fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"manifests":[{"mediaType":%q,"digest":%q,"size":%d}]}`, indexType, imageType, digest(of), len(of))
	}
	old, now, gone := image("old"), image("now"), image("gone")

	directory := t.TempDir()
	url := start(t, directory)
	push := func(reference, contentType, content string, want int) {
		t.Helper()
		if status, _, body := request(t, http.MethodPut, url+"manifests/"+reference, contentType, []byte(content)); status != want {
			t.Fatalf("pushing %s: %d: %s", reference, status, body)
		}
	}
	push("too-early", imageType, old, http.StatusBadRequest)
	if status := pushBlob(t, url, config); status != http.StatusCreated {
		t.Fatalf("pushing a blob: %d", status)
	}
	push("too-early", indexType, index(old), http.StatusBadRequest)
	push("v1", imageType, old, http.StatusCreated)
	push("v1", imageType, now, http.StatusCreated)
	push("all", indexType, index(old), http.StatusCreated)
	push("none", imageType, gone, http.StatusCreated)
	for _, reference := range []string{"none", digest(gone)} {
		if status, _, body := request(t, http.MethodDelete, url+"manifests/"+reference, "", nil); status != http.StatusAccepted {
			t.Fatalf("deleting %s: %d: %s", reference, status, body)
		}
	}

	url = start(t, directory)
	if _, _, body := request(t, http.MethodGet, url+"blobs/"+digest(config), "", nil); string(body) != config {
		t.Errorf("the blob is %q", body)
	}
	for reference, want := range map[string]struct{ contentType, content string }{
		"v1": {imageType, now}, digest(old): {imageType, old}, digest(now): {imageType, now},
		"all": {indexType, index(old)}, digest(index(old)): {indexType, index(old)},
		"none": {}, digest(gone): {}, "too-early": {},
	} {
		status, header, body := request(t, http.MethodGet, url+"manifests/"+reference, "", nil)
		switch {
		case want.content == "" && status != http.StatusNotFound:
			t.Errorf("%s: %d: %s", reference, status, body)
		case want.content == "":
		case string(body) != want.content || header.Get("Docker-Content-Digest") != digest(want.content) || header.Get("Content-Type") != want.contentType:
			t.Errorf("%s is %s of type %s, expected %+v", reference, body, header.Get("Content-Type"), want)
		}
	}
}

// A client learns that what it pushes can't be kept.
func TestDiskThatCannotBeWritten(t *testing.T) {
	directory := t.TempDir() + "/registry"
	url := start(t, directory)
	if err := os.WriteFile(directory, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if status := pushBlob(t, url, "a layer"); status != http.StatusInternalServerError {
		t.Errorf("got %d", status)
	}
}
