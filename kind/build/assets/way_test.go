package assets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/example/operator-testbed/kind/build/internal/recipe"
	"github.com/example/operator-testbed/kind/build/internal/release"
	"github.com/example/operator-testbed/kind/build/toy"
)

// A mirror has what two projects release: alpha as a file, beta and more in an archive. The
// content says that it was downloaded. It has the layout of the real sites.
type mirror struct {
	*httptest.Server
	mu sync.Mutex
	// files are the contents by path, and faults handle paths instead.
	files  map[string][]byte
	faults map[string]http.HandlerFunc
	asked  []string
}

const (
	siteOfAlpha = "/a/path/alpha.example.com/release/v1/alpha"
	siteOfBeta  = "/a/path/beta.example.com/releases/v2/beta-v2.tar.gz"
	sumsOfAlpha = siteOfAlpha + ".sha256"
	sumsOfBeta  = "/a/path/beta.example.com/releases/v2/SHA256SUMS"
)

// offered is what release.Files is for real programs.
func offered(_ []recipe.Program, _, _ string) []release.File {
	return []release.File{
		{Site: "alpha.example.com", Program: "alpha", Address: "https://alpha.example.com/release/v1/alpha", Sums: "https://alpha.example.com/release/v1/alpha.sha256"},
		{Site: "beta.example.com", Program: "beta", Address: "https://beta.example.com/releases/v2/beta-v2.tar.gz", Sums: "https://beta.example.com/releases/v2/SHA256SUMS", Member: "beta-v2/beta"},
	}
}

// released is a program that says how it was made.
func released(name string) []byte { return []byte("#!/bin/sh\necho downloaded " + name + "\n") }

func newMirror(t *testing.T) *mirror {
	t.Helper()
	archive := packed(t, "beta-v2/beta", released("beta"))
	m := &mirror{
		files: map[string][]byte{
			siteOfAlpha: released("alpha"),
			sumsOfAlpha: fmt.Appendf(nil, "%x", sha256.Sum256(released("alpha"))),
			siteOfBeta:  archive,
			sumsOfBeta:  fmt.Appendf(nil, "%x  beta-v2.tar.gz\n%064d  beta-v2.zip\n", sha256.Sum256(archive), 0),
		},
		faults: map[string]http.HandlerFunc{},
	}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func packed(t *testing.T, name string, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	tarred := tar.NewWriter(zipped)
	err := tarred.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))})
	_, failed := tarred.Write(content)
	if err := errors.Join(err, failed, tarred.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.asked = append(m.asked, r.URL.Path)
	content, found := m.files[r.URL.Path]
	fault := m.faults[r.URL.Path]
	m.mu.Unlock()
	switch {
	case fault != nil:
		fault(w, r)
	case !found:
		http.NotFound(w, r)
	default:
		_, _ = w.Write(content)
	}
}

// requests are the paths that were asked for since the last call, in order of the alphabet.
func (m *mirror) requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked := slices.Sorted(slices.Values(m.asked))
	m.asked = nil
	return asked
}

// downloading are options with a mirror.
func downloading(t *testing.T) (Options, *mirror) {
	t.Helper()
	m, o := newMirror(t), toyOptions(t)
	o.Download, o.Mirror, o.files = true, m.URL+"/a/path/", offered
	return o, m
}

// expect fails the test unless the programs in a directory say this.
func expect(t *testing.T, dir, said, alpha, beta string) {
	t.Helper()
	if a, b := runs(t, dir, "alpha"), runs(t, dir, "beta"); a != alpha || b != beta {
		t.Errorf("the programs print %q and %q, expected %q and %q; said:\n%s", a, b, alpha, beta, said)
	}
}

func TestReleasesAreDownloaded(t *testing.T) {
	o, m := downloading(t)
	o.Go = toy.Failing(t, "nothing should be compiled")
	dir, said := mustEnsure(t, o)
	expect(t, dir, said, "downloaded alpha", "downloaded beta")
	want := []string{siteOfAlpha, sumsOfAlpha, sumsOfBeta, siteOfBeta}
	if asked := m.requests(); !slices.Equal(asked, slices.Sorted(slices.Values(want))) {
		t.Errorf("asked for %q, expected each of %q once", asked, want)
	}
	again, said := mustEnsure(t, o)
	if asked := m.requests(); again != dir || said != "" || len(asked) > 0 {
		t.Errorf("the second time the directory is %s, expected %s; asked for %q and said:\n%s", again, dir, asked, said)
	}
	record, err := os.ReadFile(filepath.Join(dir, "alpha.json"))
	if origin := fmt.Sprintf("%q: %q", "origin", m.URL+siteOfAlpha); err != nil || !strings.Contains(string(record), origin) {
		t.Errorf("the record lacks %s: %s, %v", origin, record, err)
	}
}

func TestDownloadedAndCompiledProgramsHaveDifferentKeys(t *testing.T) {
	o, m := downloading(t)
	downloaded, said := mustEnsure(t, o)
	o.Download = false
	compiled, _ := mustEnsure(t, o)
	expect(t, downloaded, said, "downloaded alpha", "downloaded beta")
	expect(t, compiled, said, "alpha", "beta")
	if downloaded == compiled {
		t.Error("both are in one directory")
	}
	// What was compiled is not given up for a download.
	o.Download = true
	m.requests()
	if dir, said := mustEnsure(t, o); dir != compiled || said != "" || len(m.requests()) > 0 {
		t.Errorf("with both the directory is %s, expected %s; said:\n%s", dir, compiled, said)
	}
}

// Go's version, for example, changes the key of the directory.
func TestDownloadsAreKept(t *testing.T) {
	o, m := downloading(t)
	before, _ := mustEnsure(t, o)
	m.Close()
	toy.Write(t, o.Module, "cmd/alpha/main.go", "package main\n\nfunc main() { println(\"changed\") }\n")
	o.Go = toy.Failing(t, "nothing should be compiled")
	after, said := mustEnsure(t, o)
	expect(t, after, said, "downloaded alpha", "downloaded beta")
	if before == after {
		t.Error("the directory is still the same")
	}
}

func TestDamagedDownloadIsRepaired(t *testing.T) {
	o, m := downloading(t)
	dir, _ := mustEnsure(t, o)
	if err := os.Truncate(filepath.Join(dir, "alpha"), 3); err != nil {
		t.Fatal(err)
	}
	m.requests()
	again, said := mustEnsure(t, o)
	expect(t, again, said, "downloaded alpha", "downloaded beta")
	if asked := m.requests(); slices.Contains(asked, siteOfBeta) {
		t.Errorf("beta was downloaded again: %q", asked)
	}
}

func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = w.Write([]byte("some"))
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func text(content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, content) }
}

// What can't be downloaded is compiled, and one line says why. What the other project
// offers is downloaded all the same.
func TestWhatCanNotBeDownloadedIsCompiled(t *testing.T) {
	empty := packed(t, "beta-v2/README", nil)
	for name, c := range map[string]struct {
		faults      map[string]http.HandlerFunc
		alpha, beta string
		says        string
	}{
		"a version that was not released": {
			map[string]http.HandlerFunc{sumsOfAlpha: http.NotFound}, "alpha", "downloaded beta",
			"compiling alpha, because nothing can be downloaded from alpha.example.com: GET http://127.0.0.1:…" + sumsOfAlpha + ": 404 Not Found",
		},
		"a program that was not released": {
			map[string]http.HandlerFunc{siteOfBeta: http.NotFound}, "downloaded alpha", "beta",
			"compiling beta, because nothing can be downloaded from beta.example.com: GET http://127.0.0.1:…" + siteOfBeta + ": 404 Not Found",
		},
		"neither was released": {
			map[string]http.HandlerFunc{sumsOfAlpha: http.NotFound, sumsOfBeta: http.NotFound}, "alpha", "beta",
			"compiling alpha, because",
		},
		"a page in the place of the sums": {
			map[string]http.HandlerFunc{sumsOfAlpha: text("<html>Please log in</html>")}, "alpha", "downloaded beta",
			"compiling alpha, because nothing can be downloaded from alpha.example.com: there is no SHA-256 sum of alpha",
		},
		"an archive with another layout": {
			map[string]http.HandlerFunc{siteOfBeta: text(string(empty)), sumsOfBeta: text(fmt.Sprintf("%x  beta-v2.tar.gz", sha256.Sum256(empty)))},
			"downloaded alpha", "beta",
			"compiling beta, because nothing can be downloaded from beta.example.com: there is no beta-v2/beta in beta.tar.gz",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, m := downloading(t)
			m.faults = c.faults
			dir, said := mustEnsure(t, o)
			expect(t, dir, said, c.alpha, c.beta)
			_, port, _ := strings.Cut(m.URL, "127.0.0.1:")
			if said := strings.ReplaceAll(said, port, "…"); !strings.Contains(said, c.says) {
				t.Errorf("expected the line %q; said:\n%s", c.says, said)
			}
			if !strings.Contains(said, "] compile") {
				t.Errorf("compiling shows no progress:\n%s", said)
			}
			if again, said := mustEnsure(t, o); again != dir || said != "" {
				t.Errorf("the second time the directory is %s, expected %s; said:\n%s", again, dir, said)
			}
		})
	}
}

func TestCutConnectionIsTriedAgain(t *testing.T) {
	o, m := downloading(t)
	tried := 0
	m.faults[siteOfAlpha] = func(w http.ResponseWriter, r *http.Request) {
		if tried++; tried == 1 {
			cut(w, r)
		}
		_, _ = w.Write(released("alpha"))
	}
	dir, said := mustEnsure(t, o)
	expect(t, dir, said, "downloaded alpha", "downloaded beta")
}

func TestNoConnection(t *testing.T) {
	o, m := downloading(t)
	m.Close()
	dir, said := mustEnsure(t, o)
	expect(t, dir, said, "alpha", "beta")
	if !strings.Contains(said, "compiling alpha, because nothing can be downloaded from alpha.example.com: Get ") || !strings.Contains(said, "connection refused") {
		t.Errorf("said:\n%s", said)
	}
}

// Nothing says when such a server will answer; the three seconds are the real ones.
func TestServerThatDoesNotAnswer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	o, _ := downloading(t)
	o.Mirror = "http://" + silent.Addr().String()
	dir, said := mustEnsure(t, o)
	expect(t, dir, said, "alpha", "beta")
	if !strings.Contains(said, "nothing came for 3s") {
		t.Errorf("said:\n%s", said)
	}
}

// Something changes what is downloaded, so compiling in silence would hide it.
func TestWrongSumStopsTheBuild(t *testing.T) {
	for name, path := range map[string]string{"of a file": siteOfAlpha, "of an archive": siteOfBeta} {
		t.Run(name, func(t *testing.T) {
			o, m := downloading(t)
			m.faults[path] = text("#!/bin/sh\necho something else\n")
			_, err := Ensure(t.Context(), o)
			if err == nil {
				t.Fatal("it did not fail")
			}
			for _, want := range []string{m.URL + path, "has the SHA-256 sum ", ", expected ", ": it is not used", "TESTBED_DOWNLOAD=no"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q:\n%v", want, err)
				}
			}
			err = filepath.WalkDir(o.Cache, func(path string, _ fs.DirEntry, err error) error {
				if data, _ := os.ReadFile(path); strings.Contains(string(data), "something else") {
					t.Errorf("%s is left", path)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// Compiling needs more room than a download.
func TestFullDiskStopsTheDownload(t *testing.T) {
	o, _ := downloading(t)
	o.Go = toy.Failing(t, "nothing should be compiled")
	o.transport = onFullDisk{}
	_, err := Ensure(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), " is full (") || !strings.Contains(err.Error(), "TESTBED_CACHE moves it") {
		t.Errorf("got %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(kubernetes(o), "*")); err != nil || !slices.Equal(left, []string{filepath.Join(kubernetes(o), "lock")}) {
		t.Errorf("%q is left, %v", left, err)
	}
}

// onFullDisk gets files that can't be written.
type onFullDisk struct{}

func (onFullDisk) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && !strings.Contains(strings.ToLower(path.Base(r.URL.Path)), "sha256") {
		response.Body = full{response.Body}
	}
	return response, err
}

type full struct{ io.ReadCloser }

func (full) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "alpha", Err: syscall.ENOSPC}
}

// A program that only comes along is not worth compiling.
func TestAlong(t *testing.T) {
	o, m := downloading(t)
	o.Programs, o.Along = []string{"alpha"}, []string{"beta"}
	dir, said := mustEnsure(t, o)
	expect(t, dir, said, "downloaded alpha", "downloaded beta")

	o.Cache = t.TempDir()
	m.Close()
	read := filepath.Join(t.TempDir(), "read")
	o.Go = toy.Go(t, "-deps", "echo \"$*\" >>'"+read+"'")
	dir, said = mustEnsure(t, o)
	if _, err := os.Stat(filepath.Join(dir, "beta")); !errors.Is(err, fs.ErrNotExist) || runs(t, dir, "alpha") != "alpha" {
		t.Errorf("beta was compiled, too, or alpha is not there: %v\n%s", err, said)
	}
	// Its modules are there for a time without a network.
	if lists, err := os.ReadFile(read); err != nil || !strings.Contains(string(lists), "example.com/toy/cmd/beta") {
		t.Errorf("the modules of beta are not read: %q, %v", lists, err)
	}
	o.Go = ""
	// When it is asked for, it is made in the same way as the others.
	late := newMirror(t)
	o.Mirror, o.Programs, o.Along = late.URL+"/a/path", nil, nil
	again, said := mustEnsure(t, o)
	if asked := late.requests(); again != dir || len(asked) > 0 {
		t.Errorf("the directory is %s, expected %s; asked for %q", again, dir, asked)
	}
	expect(t, again, said, "alpha", "beta")
}

// Programs of another module are beside those of this one, without taking up space twice, and under another key than without them.
func TestProgramsOfAnotherModule(t *testing.T) {
	other := toyOptions(t)
	other.Programs = []string{"alpha"}
	from, _ := mustEnsure(t, other)
	o := toyOptions(t)
	o.Cache, o.Programs = other.Cache, []string{"beta"}
	without, _ := mustEnsure(t, o)

	o.From, o.Taken = from, []string{"alpha"}
	dir, said := mustEnsure(t, o)
	if dir == from || dir == without || !os.SameFile(file(t, from, "alpha"), file(t, dir, "alpha")) {
		t.Errorf("%s should have the alpha of %s, and not be %s", dir, from, without)
	}
	expect(t, dir, said, "alpha", "beta")
	if again, said := mustEnsure(t, o); again != dir || said != "" {
		t.Errorf("the second time the directory is %s, expected %s, and this was said: %q", again, dir, said)
	}

	// If one is missing, only that one is added.
	mine := file(t, dir, "beta")
	if err := os.Remove(filepath.Join(dir, "alpha")); err != nil {
		t.Fatal(err)
	}
	again, said := mustEnsure(t, o)
	expect(t, again, said, "alpha", "beta")
	if !os.SameFile(mine, file(t, again, "beta")) {
		t.Error("beta was built again")
	}
}

func TestStoppedDownloadKeepsWhatIsThere(t *testing.T) {
	o, m := downloading(t)
	ctx, stop := context.WithCancelCause(t.Context())
	m.faults[siteOfBeta] = func(_ http.ResponseWriter, r *http.Request) {
		for range time.Tick(10 * time.Millisecond) {
			alpha, _ := filepath.Glob(filepath.Join(kubernetes(o), "downloads", "*", "alpha.json"))
			if len(alpha) > 0 {
				break
			}
		}
		stop(errors.New("enough"))
		<-r.Context().Done()
	}
	_, err := Ensure(ctx, o)
	if _, stopped := errors.AsType[*StoppedError](err); !stopped {
		t.Errorf("got %v, expected a *StoppedError", err)
	}
	delete(m.faults, siteOfBeta)
	m.requests()
	dir, said := mustEnsure(t, o)
	expect(t, dir, said, "downloaded alpha", "downloaded beta")
	if asked := m.requests(); slices.Contains(asked, siteOfAlpha) {
		t.Errorf("alpha was downloaded again: %q", asked)
	}
}
