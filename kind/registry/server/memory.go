package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// memory keeps in a folder what a registry is told about manifests, which go-containerregistry's keeps in its process alone,
// and tells it again to the next one.
type memory struct {
	folder   string
	registry http.Handler
}

// pushed is a manifest as it was pushed.
type pushed struct {
	// Path is that of the request: /v2/NAME/manifests/TAG or DIGEST.
	Path        string `json:"path"`
	ContentType string `json:"contentType"`
	Body        []byte `json:"body"`
}

// manifestLimit is the most that registries take as a manifest, by the specification of distribution.
const manifestLimit = 4 << 20

// remember returns the registry with a memory in a folder, and in it what the folder has.
func remember(registry http.Handler, folder string) (http.Handler, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	m := memory{folder, registry}
	return m, m.recall()
}

// ServeHTTP keeps a manifest before it says that it has it.
func (m memory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if path.Base(path.Dir(r.URL.Path)) != "manifests" {
		m.registry.ServeHTTP(w, r)
		return
	}
	switch r.Method {
	case http.MethodPut:
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, manifestLimit))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		p := pushed{Path: r.URL.Path, ContentType: r.Header.Get("Content-Type"), Body: body}
		m.registry.ServeHTTP(witness{w, http.StatusCreated, func() error {
			// A tag may be pushed again, and the digest is still what it was.
			byDigest := p
			byDigest.Path = path.Join(path.Dir(p.Path), w.Header().Get("Docker-Content-Digest"))
			return errors.Join(m.keep(byDigest), m.keep(p))
		}}, r)
	case http.MethodDelete:
		m.registry.ServeHTTP(witness{w, http.StatusAccepted, func() error { return os.Remove(m.file(r.URL.Path)) }}, r)
	default:
		m.registry.ServeHTTP(w, r)
	}
}

// witness does something before an answer says that all went well.
type witness struct {
	http.ResponseWriter
	well int
	do   func() error
}

// WriteHeader makes a failure of what is to be done the answer's.
func (w witness) WriteHeader(status int) {
	if status == w.well {
		if err := w.do(); err != nil {
			log.Print(err)
			status = http.StatusInternalServerError
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// file is where the manifest of a path is kept.
func (m memory) file(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(m.folder, hex.EncodeToString(sum[:])+".json")
}

// keep writes a file as a whole or not at all.
func (m memory) keep(p pushed) error {
	content, err := json.Marshal(p)
	if err != nil {
		return err
	}
	unfinished, err := os.CreateTemp(m.folder, "unfinished-")
	if err != nil {
		return err
	}
	defer os.Remove(unfinished.Name())
	_, err = unfinished.Write(content)
	if err := errors.Join(err, unfinished.Close()); err != nil {
		return err
	}
	return os.Rename(unfinished.Name(), m.file(p.Path))
}

// recall pushes what is in the folder. An index is refused until its images are there, so what is refused is tried again as long
// as anything else is not.
func (m memory) recall() error {
	files, err := filepath.Glob(filepath.Join(m.folder, "*.json"))
	if err != nil {
		return err
	}
	var waiting []pushed
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var p pushed
		if err := json.Unmarshal(content, &p); err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		waiting = append(waiting, p)
	}
	for {
		var refused []pushed
		for _, p := range waiting {
			if taken, err := m.push(p); err != nil {
				return err
			} else if !taken {
				refused = append(refused, p)
			}
		}
		if len(refused) == 0 || len(refused) == len(waiting) {
			for _, p := range refused {
				log.Printf("forgotten, as what it consists of is not here: %s", strings.TrimPrefix(p.Path, "/v2/"))
			}
			return nil
		}
		waiting = refused
	}
}

// push says whether the registry has taken a manifest.
func (m memory) push(p pushed) (bool, error) {
	request, err := http.NewRequest(http.MethodPut, p.Path, bytes.NewReader(p.Body))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", p.ContentType)
	a := answer{header: http.Header{}}
	m.registry.ServeHTTP(&a, request)
	return a.status == http.StatusCreated, nil
}

// answer is the status of one that goes to nobody.
type answer struct {
	header http.Header
	status int
}

// Header is an http.ResponseWriter's.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader notes the status.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write takes anything.
func (a *answer) Write(content []byte) (int, error) { return len(content), nil }
