package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// commandVariable makes this test's executable the command.
const commandVariable = "BUNDLE_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(commandVariable) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// release serves a bundle and its checksum over TLS, as the page of a release does.
type release struct {
	*httptest.Server
	sum    string
	cutAt  int      // connections are cut after so many bytes; 0: never
	ranges []string // that were asked for
}

func newRelease(t *testing.T, content []byte) *release {
	t.Helper()
	r := &release{sum: fmt.Sprintf("%x", sha256.Sum256(content))}
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		switch request.URL.Path {
		case "/bundle.tar.gz.sha256":
			fmt.Fprintf(w, "%s  bundle.tar.gz\n", r.sum)
		case "/bundle.tar.gz":
			r.ranges = append(r.ranges, request.Header.Get("Range"))
			if r.cutAt > 0 {
				w = &cut{w, r.cutAt}
			}
			http.ServeContent(w, request, "", time.Time{}, bytes.NewReader(content))
		case "/elsewhere":
			http.Redirect(w, request, "http://example.com/bundle.tar.gz", http.StatusFound)
		default:
			http.NotFound(w, request)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// cut lets so many bytes of a body through, and then cuts the connection.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		_, _ = c.ResponseWriter.Write(p[:len(p)+c.left])
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(p)
}

func (r *release) fetch(directory string) fetch {
	return fetch{r.Client(), r.URL + "/bundle.tar.gz", directory, func(string, ...any) {}}
}

func TestFetchGoesOn(t *testing.T) {
	content := bytes.Repeat([]byte("what is in a bundle "), 10_000)
	r := newRelease(t, content)
	r.cutAt = 70_000
	directory := t.TempDir()
	path, err := r.fetch(directory).get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
		t.Fatalf("%d bytes have come, expected %d: %v", len(got), len(content), err)
	}
	if len(r.ranges) < 3 || r.ranges[0] != "" || !strings.HasPrefix(r.ranges[1], "bytes=") {
		t.Errorf("the ranges that were asked for are %q: expected one after each cut", r.ranges)
	}

	// A server that does not go on: what is downloaded is kept for another attempt.
	if err := os.Truncate(path, 1000); err != nil {
		t.Fatal(err)
	}
	r.Config.Handler = refusing(r.Config.Handler)
	if _, err := r.fetch(directory).get(t.Context()); err == nil || !strings.Contains(err.Error(), "503 Service Unavailable; 0 MB are downloaded and kept") {
		t.Errorf("a server that is down: %v", err)
	}
	if sizeOf(path) != 1000 {
		t.Errorf("%d bytes are kept, expected 1000", sizeOf(path))
	}
}

// refusing serves checksums only.
func refusing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if strings.HasSuffix(request.URL.Path, ".sha256") {
			next.ServeHTTP(w, request)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
}

func TestFetchRefuses(t *testing.T) {
	r := newRelease(t, []byte("what is in a bundle"))
	for name, test := range map[string]struct {
		address, sum, says string
	}{
		"a wrong checksum":   {"/bundle.tar.gz", strings.Repeat("0", 64), "it is not used"},
		"no checksum":        {"/bundle.tar.gz", "hello", "is not a SHA-256 checksum"},
		"no bundle":          {"/another.tar.gz", r.sum, "404 Not Found"},
		"a way out of https": {"/elsewhere#", r.sum, "it redirects to http://example.com/bundle.tar.gz"},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			r.sum = test.sum
			f := r.fetch(directory)
			f.client = &http.Client{Transport: f.client.Transport, CheckRedirect: newClient().CheckRedirect}
			f.address = r.URL + test.address
			if _, err := f.get(t.Context()); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("fetch says %v, expected %q", err, test.says)
			}
			onlyDirectory(t, directory)
		})
	}
	if _, err := (fetch{http.DefaultClient, "http://127.0.0.1:1/bundle.tar.gz", t.TempDir(), nil}).get(t.Context()); err == nil || !strings.Contains(err.Error(), "only https is accepted") {
		t.Errorf("http: %v", err)
	}
}

// TestUnbundleThroughAProxy runs the command as make unbundle does, on a machine that reaches the release only by its proxy.
func TestUnbundleThroughAProxy(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("macOS trusts what its keychain has, and no SSL_CERT_FILE")
	}
	testbed, modules := caches(t)
	content, err := os.ReadFile(packed(t, forBoth(t)))
	if err != nil {
		t.Fatal(err)
	}
	r := newRelease(t, content)
	r.cutAt = len(content) * 2 / 3
	proxied := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		proxied++
		if request.Method != http.MethodConnect || request.Host != "example.com:443" {
			http.Error(w, request.Method+" "+request.Host, http.StatusForbidden)
			return
		}
		target, err := net.Dial("tcp", r.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer target.Close()
		w.WriteHeader(http.StatusOK)
		client, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer client.Close()
		go func() { _, _ = io.Copy(target, buffered) }()
		_, _ = io.Copy(client, target)
	}))
	t.Cleanup(proxy.Close)
	trusted := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}

	unbundle := func() (string, error) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), self, "unpack", "https://example.com/bundle.tar.gz")
		command.Env = append(os.Environ(), commandVariable+"=1", "HTTPS_PROXY="+proxy.URL, "NO_PROXY=", "SSL_CERT_FILE="+trusted)
		out, err := command.CombinedOutput()
		return string(out), err
	}
	said, err := unbundle()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for _, want := range []string{"downloading: the connection was cut", "need not compile Kubernetes"} {
		if !strings.Contains(said, want) {
			t.Errorf("unbundle did not say %q:\n%s", want, said)
		}
	}
	if proxied < 2 {
		t.Errorf("the proxy was asked %d times", proxied)
	}
	onlyDirectory(t, modules, "cache")
	onlyDirectory(t, filepath.Join(testbed, "downloads")) // nothing is left of the download

	// Somebody else's bundle under the same name.
	r.sum = strings.Repeat("0", 64)
	if said, err := unbundle(); err == nil || !strings.Contains(said, "does not match https://example.com/bundle.tar.gz.sha256") {
		t.Errorf("a wrong checksum: %v: %s", err, said)
	}
}

// TestChecksumBeside has a bundle on this machine and its checksum beside it.
func TestChecksumBeside(t *testing.T) {
	caches(t)
	bundle := packed(t, forBoth(t))
	content, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	for sum, fails := range map[string]bool{fmt.Sprintf("%x", sha256.Sum256(content)): false, strings.Repeat("0", 64): true} {
		if err := os.WriteFile(bundle+".sha256", []byte(sum+"  bundle.tar.gz\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unbundle(t.Context(), bundle); (err != nil) != fails {
			t.Errorf("with the checksum %s: %v", sum, err)
		}
	}
}
