package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// silence is how long a server may send nothing before fetch closes the connection.
const silence = time.Minute

// isAddress reports whether a bundle is to be fetched.
func isAddress(bundle string) bool { return strings.Contains(bundle, "://") }

// newClient returns a client that uses the proxy of the environment, and follows redirects to https addresses only.
func newClient() *http.Client {
	return &http.Client{CheckRedirect: func(request *http.Request, via []*http.Request) error {
		if request.URL.Scheme != "https" || len(via) == 10 {
			return fmt.Errorf("it redirects to %s", request.URL)
		}
		return nil
	}}
}

// fetch downloads a bundle. The part that has been downloaded is kept under the checksum, so that another attempt continues from
// there, even if the bundle has moved to another address.
type fetch struct {
	client    *http.Client
	address   string
	directory string // of partial downloads
	report    func(format string, args ...any)
}

// get returns the path of the bundle, which matches its checksum. The caller removes it.
func (f fetch) get(ctx context.Context) (string, error) {
	if !strings.HasPrefix(f.address, "https://") {
		return "", fmt.Errorf("%s is neither a file nor an https address: a bundle holds programs, so only https is accepted", f.address)
	}
	sum, err := f.checksum(ctx)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(f.directory, 0o755); err != nil {
		return "", err
	}
	partial := filepath.Join(f.directory, sum+".part")
	if size := sizeOf(partial); size > 0 {
		say("continuing after %d MB that an earlier run has downloaded", size>>20)
	}
	for {
		before := sizeOf(partial)
		complete, err := f.resume(ctx, partial)
		if complete {
			break
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		// As long as an attempt downloads something, the next one is worth making.
		if after := sizeOf(partial); after <= before {
			return "", fmt.Errorf("download %s: %w; %d MB are downloaded and kept: run this again to continue", f.address, err, after>>20)
		}
		f.report("downloading: the connection was cut (%v); continuing", err)
	}
	if err := verify(partial, sum); err != nil {
		return "", errors.Join(fmt.Errorf("%s does not match %s.sha256: %w: it is not used", f.address, f.address, err), os.Remove(partial))
	}
	return partial, nil
}

// checksum returns the SHA-256 sum of the bundle, from the file beside it.
func (f fetch) checksum(ctx context.Context) (string, error) {
	response, err := f.request(ctx, f.address+".sha256", 0)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("there is no bundle with a checksum at %s: %s.sha256 is %s", f.address, f.address, response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	if err != nil {
		return "", fmt.Errorf("read %s.sha256: %w", f.address, err)
	}
	sum := sumIn(text)
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(sum) {
		return "", fmt.Errorf("%s.sha256 is not a SHA-256 checksum", f.address)
	}
	return sum, nil
}

// sumIn returns the checksum that the text of a .sha256 file begins with.
func sumIn(text []byte) string {
	sum, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	return sum
}

// resume downloads the rest of a file, and reports whether it is complete. If not, the error says why.
func (f fetch) resume(ctx context.Context, partial string) (complete bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := time.AfterFunc(silence, func() { cancel(fmt.Errorf("the server has sent nothing for %s", silence)) })
	defer stop.Stop()
	response, err := f.request(ctx, f.address, sizeOf(partial)) //nolint:bodyclose // It is closed below; the linter loses it in the closure.
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	switch response.StatusCode {
	case http.StatusPartialContent:
	case http.StatusOK: // all of it, from the start
		flags |= os.O_TRUNC
	case http.StatusRequestedRangeNotSatisfiable: // there is nothing more
		return true, nil
	default:
		return false, errors.New(response.Status)
	}
	out, err := os.OpenFile(partial, flags, 0o644)
	if err != nil {
		return false, err
	}
	total := sizeOf(partial) + response.ContentLength
	reported := time.Now()
	_, err = io.Copy(out, readerFunc(func(p []byte) (int, error) {
		n, err := response.Body.Read(p)
		stop.Reset(silence)
		if time.Since(reported) > time.Second {
			reported = time.Now()
			f.report("downloading %s: %d of %d MB", path.Base(f.address), sizeOf(partial)>>20, total>>20)
		}
		return n, err
	}))
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return err == nil, errors.Join(err, out.Close())
}

// request asks for the content from an offset on.
func (f fetch) request(ctx context.Context, address string, offset int64) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if offset > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	response, err := f.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w; behind a company's proxy, set HTTPS_PROXY", err)
	}
	return response, nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func sizeOf(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

// verify returns an error if a file does not have a SHA-256 sum.
func verify(file, sum string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, in)
	if got := hex.EncodeToString(hash.Sum(nil)); err == nil && got != sum {
		err = fmt.Errorf("its SHA-256 checksum is %s and not %s", got, sum)
	}
	return err
}
