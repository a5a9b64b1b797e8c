package download

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// content is what servers have in these tests.
var content = strings.Repeat("0123456789abcdef", 1<<16)

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

const address = "http://release.example.com/v1/program"

// network connects clients with a handler, without sockets: inside a synctest bubble, the
// clock stands still while one waits for the other.
func network(t *testing.T, handler http.HandlerFunc) Client {
	t.Helper()
	connections := make(chan net.Conn)
	ctx, cancel := context.WithCancel(t.Context())
	server := &http.Server{Handler: handler}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(&listener{ctx, connections})
	}()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		select {
		case connections <- theirs:
			return ours, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	t.Cleanup(func() {
		cancel()
		transport.CloseIdleConnections()
		_ = server.Close()
		<-served
	})
	return Client{Transport: transport}
}

type listener struct {
	ctx         context.Context
	connections chan net.Conn
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.connections:
		return c, nil
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error   { return nil }
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// fetch downloads the content, and returns what is at the path afterwards.
func fetch(t *testing.T, c Client) (got string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	err = c.Fetch(t.Context(), address, sumOf(content), path, func(int64, int64) {})
	data, failed := os.ReadFile(path)
	if failed != nil && !errors.Is(failed, fs.ErrNotExist) {
		t.Fatal(failed)
	}
	return string(data), err
}

// inBubble runs a test with a clock that stands still while everything waits.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// serve answers as a file server does: with an ETag, and with the part that is asked for.
func serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"one"`)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
}

// cutAfter answers like serve, but cuts the connection after some bytes.
func cutAfter(w http.ResponseWriter, r *http.Request, bytes int) {
	serve(&cutting{w, bytes}, r)
}

type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(p []byte) (int, error) {
	if len(p) < c.left {
		c.left -= len(p)
		return c.ResponseWriter.Write(p)
	}
	_, _ = c.ResponseWriter.Write(p[:c.left])
	_ = http.NewResponseController(c.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

func TestFetch(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := network(t, serve)
		var done, total int64
		path := filepath.Join(t.TempDir(), "program")
		if err := c.Fetch(t.Context(), address, sumOf(content), path, func(d, n int64) { done, total = d, n }); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != content {
			t.Errorf("the file has %d bytes, %v", len(data), err)
		}
		if size := int64(len(content)); done != size || total != size {
			t.Errorf("at the end it reports %d of %d bytes, expected %d of %[3]d", done, total, size)
		}
	})
}

func TestCutConnectionsAreContinued(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var ranges []string
		c := network(t, func(w http.ResponseWriter, r *http.Request) {
			ranges = append(ranges, r.Header.Get("Range"))
			if len(ranges) <= 2*attempts { // more than may fail in a row
				cutAfter(w, r, 1000)
				return
			}
			serve(w, r)
		})
		got, err := fetch(t, c)
		if err != nil || got != content {
			t.Errorf("got %d bytes and %v", len(got), err)
		}
		if len(ranges) < 3 || ranges[0] != "" || ranges[1] != "bytes=1000-" || ranges[2] != "bytes=2000-" {
			t.Errorf("asked for %q", ranges)
		}
	})
}

// The part that is there may belong to another version than the rest.
func TestChangedFileIsNotContinued(t *testing.T) {
	for name, tag := range map[string]func(n int) string{
		"another tag": strconv.Itoa,
		"a weak tag":  func(int) string { return "weak" },
		"no tag":      func(int) string { return "" },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				n := 0
				c := network(t, func(w http.ResponseWriter, r *http.Request) {
					n++
					sent := len(content) + 1
					switch tag := tag(n); tag {
					case "":
					case "weak":
						w.Header().Set("ETag", `W/"weak"`)
						r.Header.Del("If-Range") // as if it were the same version
						sent = 5000
					default:
						w.Header().Set("ETag", strconv.Quote(tag))
					}
					if n == 1 {
						w.Header().Set("Content-Length", strconv.Itoa(2*len(content)))
						_, _ = w.Write(bytes.Repeat([]byte("x"), sent))
						_ = http.NewResponseController(w).Flush()
						panic(http.ErrAbortHandler)
					}
					http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
				})
				got, err := fetch(t, c)
				if err != nil || got != content {
					t.Errorf("got %d bytes and %v after %d requests", len(got), err, n)
				}
			})
		})
	}
}

// A server that starts from the beginning each time never gets to the end.
func TestRestartsAreNoProgress(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := 0
		c := network(t, func(w http.ResponseWriter, r *http.Request) {
			n++
			r.Header.Del("Range")
			cutAfter(w, r, 1000*n)
		})
		if _, err := fetch(t, c); err == nil || n > attempts+1 {
			t.Errorf("got %v after %d requests", err, n)
		}
	})
}

func TestWrongSum(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := 0
		c := network(t, func(w http.ResponseWriter, _ *http.Request) {
			n++
			_, _ = io.WriteString(w, "something else")
		})
		got, err := fetch(t, c)
		wrong, ok := errors.AsType[*SumError](err)
		if !ok || wrong.Got != sumOf("something else") || wrong.Want != sumOf(content) || !strings.Contains(err.Error(), address) {
			t.Errorf("got %v", err)
		}
		if got != "" || n != 1 {
			t.Errorf("%q is left, after %d requests", got, n)
		}
	})
}

func TestSilentServer(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		call    func(context.Context, Client) error
		after   time.Duration
	}{
		"does not answer the first request": {
			func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			func(ctx context.Context, c Client) error { _, err := c.First(ctx, address); return err },
			FirstAnswer,
		},
		"does not answer": {
			func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			func(ctx context.Context, c Client) error { _, err := c.Text(ctx, address); return err },
			4*silence + 7*pause,
		},
		"stops in the middle": {
			func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", "1000")
				_, _ = io.WriteString(w, "the first few bytes")
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			},
			func(ctx context.Context, c Client) error { _, err := c.First(ctx, address); return err },
			silence,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				client, begin := network(t, c.handler), time.Now()
				err := c.call(t.Context(), client)
				silent, ok := errors.AsType[*SilentError](err)
				if took := time.Since(begin); !ok || silent.Address != address || took != c.after {
					t.Errorf("got %v after %v, expected a *SilentError after %v", err, took, c.after)
				}
			})
		})
	}
}

// A server that is slow but not silent is waited for.
func TestSlowServer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := network(t, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(FirstAnswer - time.Millisecond) //nolint:forbidigo // the clock is synctest's
			w.Header().Set("Content-Length", "10")
			for i := range 10 {
				if i > 0 {
					time.Sleep(silence - time.Millisecond) //nolint:forbidigo // the clock is synctest's
				}
				_, _ = io.WriteString(w, "x")
				_ = http.NewResponseController(w).Flush()
			}
		})
		if text, err := c.First(t.Context(), address); text != "xxxxxxxxxx" || err != nil {
			t.Errorf("got %q and %v", text, err)
		}
	})
}

func TestStalledDownloadIsContinued(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := 0
		c := network(t, func(w http.ResponseWriter, r *http.Request) {
			if n++; n > 1 {
				serve(w, r)
				return
			}
			w.Header().Set("ETag", `"one"`)
			w.Header().Set("Content-Length", strconv.Itoa(len(content)))
			_, _ = io.WriteString(w, content[:5000])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		if got, err := fetch(t, c); err != nil || got != content || n != 2 {
			t.Errorf("got %d bytes and %v after %d requests", len(got), err, n)
		}
	})
}

func TestRefusals(t *testing.T) {
	for code, requests := range map[int]int{
		http.StatusNotFound:           1,
		http.StatusForbidden:          1,
		http.StatusProxyAuthRequired:  1,
		http.StatusTooManyRequests:    attempts,
		http.StatusServiceUnavailable: attempts,
	} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				n := 0
				c := network(t, func(w http.ResponseWriter, _ *http.Request) {
					n++
					w.WriteHeader(code)
				})
				_, err := fetch(t, c)
				if want := fmt.Sprintf("GET %s: %d %s", address, code, http.StatusText(code)); err == nil || err.Error() != want || n != requests {
					t.Errorf("got %v after %d requests, expected %s after %d", err, n, want, requests)
				}
			})
		})
	}
}

func TestPasswordsAreNotShown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := network(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
		_, err := c.Text(t.Context(), "http://user:secret@mirror.example.com/x")
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v", err)
		}
	})
}

func TestRedirectFromHTTPSToHTTPIsRefused(t *testing.T) {
	c := Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.Scheme == "http" {
			t.Errorf("asked for %s", r.URL)
		}
		return &http.Response{
			StatusCode: http.StatusFound, Header: http.Header{"Location": {"http://cdn.example.com/x"}}, Body: http.NoBody, Request: r,
		}, nil
	})}
	if _, err := c.Text(t.Context(), "https://release.example.com/x"); !errors.Is(err, errDowngraded) {
		t.Errorf("got %v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestEndlessTextIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := network(t, func(w http.ResponseWriter, _ *http.Request) {
			for range 2 * textLimit / len(content) {
				if _, err := io.WriteString(w, content); err != nil {
					return
				}
			}
		})
		if _, err := c.Text(t.Context(), address); !errors.Is(err, errTooLong) {
			t.Errorf("got %v", err)
		}
	})
}

func TestDoneContextStopsADownload(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("enough")
		var n atomic.Int32
		c := network(t, func(_ http.ResponseWriter, r *http.Request) {
			n.Add(1)
			cancel(cause)
			<-r.Context().Done()
		})
		err := c.Fetch(ctx, address, sumOf(content), filepath.Join(t.TempDir(), "program"), func(int64, int64) {})
		if !errors.Is(err, cause) || n.Load() != 1 {
			t.Errorf("got %v after %d requests", err, n.Load())
		}
	})
}

// full is a file on a disk that has no more room than some bytes.
type full struct {
	*os.File
	room int
}

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.room {
		return 0, &fs.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	f.room -= len(p)
	return f.File.Write(p)
}

func TestFullDisk(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := 0
		c := network(t, func(w http.ResponseWriter, r *http.Request) {
			n++
			serve(w, r)
		})
		file, err := os.Create(filepath.Join(t.TempDir(), "program"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		err = c.fetch(t.Context(), address, sumOf(content), &full{file, len(content) / 2}, func(int64, int64) {})
		if !errors.Is(err, syscall.ENOSPC) || n != 1 {
			t.Errorf("got %v after %d requests", err, n)
		}
	})
}

// The environment's proxies are read once in a process, so this needs another one: the test's own executable.
func TestProxyOfTheEnvironment(t *testing.T) {
	const child = "DOWNLOAD_TEST_THROUGH_PROXY"
	if os.Getenv(child) != "" {
		text, err := Client{}.Text(t.Context(), address)
		fmt.Printf("got %q and %v\n", text, err)
		return
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) }))
	defer proxy.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), child+"=yes", "HTTP_PROXY="+proxy.URL, "http_proxy="+proxy.URL, "NO_PROXY=", "no_proxy=")
	out, err := cmd.CombinedOutput()
	if want := fmt.Sprintf("got %q and <nil>", address); err != nil || !strings.Contains(string(out), want) {
		t.Errorf("%v, expected %s:\n%s", err, want, out)
	}
}

func TestUnpack(t *testing.T) {
	dir := t.TempDir()
	archive := filepath.Join(dir, "program.tar.gz")
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	tarred := tar.NewWriter(zipped)
	for name, text := range map[string]string{"v1/README": "read me", "v1/program": content} {
		if err := tarred.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tarred, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tarred.Close(), zipped.Close(), os.WriteFile(archive, packed.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	if err := Unpack(archive, "v1/program", program); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(program); err != nil || string(data) != content {
		t.Errorf("the program has %d bytes, %v", len(data), err)
	}
	if err := Unpack(archive, "v2/program", filepath.Join(dir, "other")); err == nil || err.Error() != "there is no v2/program in program.tar.gz" {
		t.Errorf("a member that there is not: %v", err)
	}
	if err := os.WriteFile(archive, packed.Bytes()[:packed.Len()/2], 0o644); err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{"v1/program", "v1/neither"} {
		other := filepath.Join(dir, "other")
		if err := Unpack(archive, member, other); err == nil || !strings.Contains(err.Error(), "read program.tar.gz") {
			t.Errorf("half an archive: %v", err)
		}
		// The go command does not write over half a program.
		if _, err := os.Stat(other); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("of half an archive, something is left: %v", err)
		}
	}
}
