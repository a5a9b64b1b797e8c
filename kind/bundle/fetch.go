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

// silence is how long a server may send nothing before the connection is given up.
const silence = time.Minute

// isAddress reports whether a bundle is to be fetched.
func isAddress(bundle string) bool { return strings.Contains(bundle, "://") }

// newClient returns a client that goes through the proxy of the environment, and follows redirections to https addresses only.
func newClient() *http.Client {
	return &http.Client{CheckRedirect: func(request *http.Request, via []*http.Request) error {
		if request.URL.Scheme != "https" || len(via) == 10 {
			return fmt.Errorf("it leads to %s", request.URL)
		}
		return nil
	}}
}

// A fetch brings a bundle to this machine. What has come is kept under the checksum, so that another attempt goes on from there,
// also when the bundle has moved to another address.
type fetch struct {
	client  *http.Client
	address string
	folder  string // for what has come
	report  func(format string, args ...any)
}

// get returns the path of the bundle, which is what its checksum says. It is for the caller to remove.
func (f fetch) get(ctx context.Context) (string, error) {
	if !strings.HasPrefix(f.address, "https://") {
		return "", fmt.Errorf("%s is no file and no https address: a bundle holds programs, so only https will do", f.address)
	}
	sum, err := f.checksum(ctx)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(f.folder, 0o755); err != nil {
		return "", err
	}
	partial := filepath.Join(f.folder, sum+".part")
	if size := sizeOf(partial); size > 0 {
		say("%d MB had come before, and are saved", size>>20)
	}
	for {
		before := sizeOf(partial)
		whole, err := f.goOn(ctx, partial)
		if whole {
			break
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		// As long as something comes, the next attempt is worth making.
		if after := sizeOf(partial); after <= before {
			return "", fmt.Errorf("fetch %s: %w; %d MB have come and are kept: run this again to go on from there", f.address, err, after>>20)
		}
		f.report("downloading: the connection was cut (%v); going on", err)
	}
	if err := verify(partial, sum); err != nil {
		return "", errors.Join(fmt.Errorf("%s is not what %s.sha256 says: %w: nothing of it is used", f.address, f.address, err), os.Remove(partial))
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
		return "", fmt.Errorf("%s.sha256 is no SHA-256 checksum", f.address)
	}
	return sum, nil
}

// sumIn returns the checksum that the text of a .sha256 file begins with.
func sumIn(text []byte) string {
	sum, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	return sum
}

// goOn adds what is missing to a file, and reports whether it is whole. If not, the error says why.
func (f fetch) goOn(ctx context.Context, partial string) (whole bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := time.AfterFunc(silence, func() { cancel(fmt.Errorf("nothing has come for %s", silence)) })
	defer stop.Stop()
	response, err := f.request(ctx, f.address, sizeOf(partial)) //nolint:bodyclose // It is closed below; the linter loses it in the closure.
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	switch response.StatusCode {
	case http.StatusPartialContent:
	case http.StatusOK: // the whole, from the beginning
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
	told := time.Now()
	_, err = io.Copy(out, readerFunc(func(p []byte) (int, error) {
		n, err := response.Body.Read(p)
		stop.Reset(silence)
		if time.Since(told) > time.Second {
			told = time.Now()
			f.report("downloading %s: %d of %d MB", path.Base(f.address), sizeOf(partial)>>20, total>>20)
		}
		return n, err
	}))
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return err == nil, errors.Join(err, out.Close())
}

// request asks for what comes at and after an offset.
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
	got, err := sumOfFile(file)
	if err == nil && got != sum {
		err = fmt.Errorf("its SHA-256 checksum is %s and not %s", got, sum)
	}
	return err
}

func sumOfFile(file string) (string, error) {
	in, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer in.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, in)
	return hex.EncodeToString(hash.Sum(nil)), err
}
