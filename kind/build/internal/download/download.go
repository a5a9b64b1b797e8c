// Package download gets files over HTTP: it continues where a connection was cut, gives up
// on a server that is silent, and accepts nothing but a file with the expected SHA-256 sum.
package download

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	// FirstAnswer is how long a server may take to answer the first request, which
	// finds out whether this machine reaches it at all.
	FirstAnswer = 3 * time.Second
	// silence is how long a server that has answered before may send nothing.
	silence = 15 * time.Second
	// attempts is how many in a row may fail without a byte of progress, and pause
	// is the time before the second one. It doubles each time.
	attempts = 4
	pause    = time.Second
	// textLimit is more than any file of sums has.
	textLimit = 1 << 20
)

// Client downloads files. The zero value is ready, and uses the proxies that the
// environment names.
type Client struct {
	// Transport makes the requests; nil means http.DefaultTransport.
	Transport http.RoundTripper
}

// First returns the content of a small file if the server answers at once: see FirstAnswer.
func (c Client) First(ctx context.Context, address string) (string, error) {
	var text strings.Builder
	_, err := c.get(ctx, address, FirstAnswer, &part{to: &text, limit: textLimit})
	return text.String(), err
}

// Text returns the content of a small file.
func (c Client) Text(ctx context.Context, address string) (string, error) {
	var text strings.Builder
	err := again(ctx, func() (bool, error) {
		text.Reset()
		_, err := c.get(ctx, address, silence, &part{to: &text, limit: textLimit})
		return false, err
	})
	return text.String(), err
}

// Fetch downloads a file with a SHA-256 sum to a path, where there is none yet. It
// reports how many of how many bytes there are; the total is 0 while it is unknown.
// A file with another sum is removed, and the error is a *SumError.
func (c Client) Fetch(ctx context.Context, address, sum, path string, report func(done, total int64)) (err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			_ = os.Remove(path) // the caller empties the directory anyway
		}
	}()
	return c.fetch(ctx, address, sum, file, report)
}

// output is where a file goes: an *os.File.
type output interface {
	io.ReadWriteSeeker
	Truncate(size int64) error
}

func (c Client) fetch(ctx context.Context, address, sum string, file output, report func(done, total int64)) error {
	p := &part{to: file, report: report}
	err := again(ctx, func() (bool, error) {
		before := p.done
		restarted, err := c.get(ctx, address, silence, p)
		return !restarted && p.done > before, err
	})
	if err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sum {
		return &SumError{Address: Redacted(address), Got: got, Want: sum}
	}
	return nil
}

// again calls an attempt until it succeeds or fails for good. Failures count only as
// long as nothing is gained.
func again(ctx context.Context, attempt func() (gained bool, err error)) error {
	for fruitless := 1; ; fruitless++ {
		gained, err := attempt()
		if err == nil {
			return nil
		}
		if gained {
			fruitless = 1
		}
		if final(err) || fruitless == attempts {
			return err
		}
		select {
		case <-time.After(pause << (fruitless - 1)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// final reports whether another attempt would fail in the same way.
func final(err error) bool {
	if refused, ok := errors.AsType[*StatusError](err); ok {
		return refused.Code < 500 && refused.Code != http.StatusRequestTimeout && refused.Code != http.StatusTooManyRequests
	}
	_, ofDisk := errors.AsType[*fs.PathError](err)
	return ofDisk || errors.Is(err, errDowngraded) || errors.Is(err, errTooLong)
}

// part is as much of a file as has been downloaded.
type part struct {
	to     io.Writer
	limit  int64
	report func(done, total int64)

	done, total int64
	// version is what the server calls this version of the file, so that it does not
	// continue with another one.
	version string
}

// get downloads the rest of a file. It reports whether the server has sent all of it again
// instead.
func (c Client) get(ctx context.Context, address string, patience time.Duration, p *part) (restarted bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clock := time.AfterFunc(patience, func() { cancel(&SilentError{Address: Redacted(address), For: patience}) })
	defer clock.Stop()
	response, err := c.request(ctx, address, p) //nolint:bodyclose // It is closed below, unless there is none.
	if err != nil {
		return false, cmp.Or(context.Cause(ctx), err)
	}
	defer response.Body.Close()
	if restarted, err = p.begin(response); err != nil {
		return restarted, err
	}
	_, err = io.Copy(p, readerFunc(func(buffer []byte) (int, error) {
		clock.Reset(silence)
		return response.Body.Read(buffer)
	}))
	if _, ofDisk := errors.AsType[*fs.PathError](err); ofDisk {
		return restarted, err
	}
	return restarted, cmp.Or(context.Cause(ctx), err)
}

// request asks for the rest of a file.
func (c Client) request(ctx context.Context, address string, p *part) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	// A compressed body would have no length, and could not be continued.
	request.Header.Set("Accept-Encoding", "identity")
	if p.done > 0 && p.version != "" {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", p.done))
		request.Header.Set("If-Range", p.version)
	}
	client := http.Client{Transport: c.Transport, CheckRedirect: secure}
	return client.Do(request)
}

var (
	errDowngraded = errors.New("the server redirects from https to http")
	errTooLong    = errors.New("it is far too long for a file of sums")
)

// secure follows the redirects that http.Client does, but not from https to http.
func secure(request *http.Request, via []*http.Request) error {
	if via[0].URL.Scheme == "https" && request.URL.Scheme != "https" {
		return errDowngraded
	}
	if len(via) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	return nil
}

// begin prepares for the body of a response, which either goes on with the file or is
// all of it.
func (p *part) begin(response *http.Response) (restarted bool, err error) {
	switch response.StatusCode {
	case http.StatusPartialContent:
		if !strings.HasPrefix(response.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", p.done)) {
			p.version = "" // the next attempt asks for all of it
			return false, fmt.Errorf("%s sends another part of the file than the one that was asked for", response.Request.URL.Host)
		}
		return false, nil
	case http.StatusOK:
	case http.StatusRequestedRangeNotSatisfiable:
		p.version = ""
		return false, fmt.Errorf("%s no longer has the rest of the file", response.Request.URL.Host)
	default:
		return false, &StatusError{Address: response.Request.URL.Redacted(), Code: response.StatusCode}
	}
	restarted = p.done > 0
	if file, ok := p.to.(output); ok && restarted {
		_, err = file.Seek(0, io.SeekStart)
		err = errors.Join(err, file.Truncate(0))
	}
	p.done, p.total = 0, max(0, response.ContentLength)
	// A weak tag does not promise the same bytes.
	p.version = response.Header.Get("ETag")
	if p.version == "" || strings.HasPrefix(p.version, "W/") {
		p.version = response.Header.Get("Last-Modified")
	}
	return restarted, err
}

// Write adds to the file.
func (p *part) Write(data []byte) (int, error) {
	if p.limit > 0 && p.done+int64(len(data)) > p.limit {
		return 0, errTooLong
	}
	n, err := p.to.Write(data)
	p.done += int64(n)
	if p.report != nil {
		p.report(p.done, p.total)
	}
	return n, err
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// SilentError reports that a server has sent nothing for too long.
type SilentError struct {
	Address string
	For     time.Duration
}

func (e *SilentError) Error() string {
	return fmt.Sprintf("GET %s: nothing came for %s", e.Address, e.For)
}

// StatusError reports that a server has refused a request.
type StatusError struct {
	Address string
	Code    int
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("GET %s: %d %s", e.Address, e.Code, http.StatusText(e.Code))
}

// SumError reports that what was downloaded is not what was expected.
type SumError struct{ Address, Got, Want string }

func (e *SumError) Error() string {
	return fmt.Sprintf("%s has the SHA-256 sum %s, expected %s", e.Address, e.Got, e.Want)
}

// Redacted is an address without a password.
func Redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an invalid address"
	}
	return u.Redacted()
}
