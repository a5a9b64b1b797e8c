package browser

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/host/home"
)

// What axe-core is, as the npm registry has it. Renovate does not know it: a new version needs its hash, which
// "npm view axe-core@VERSION dist.integrity" prints.
const (
	axeVersion   = "4.10.3"
	axeIntegrity = "sha512-Xm7bpRXnDSX2YE2YFfBk2FnF0ep6tmG7xPh8iHee8MIcrgq762Nkce856dYtJYLkuIoYZvGfTs/PbZhideTcEg=="
)

// Axe returns axe-core, a program that runs in a page and finds what people who can't see it, or use no mouse, would stumble over. The
// first time it is fetched from the npm registry. Where that can't be reached, the test is skipped, except in CI, where nobody would
// notice.
func Axe(t *testing.T) string {
	t.Helper()
	program, err := axe(t.Context())
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("fetch axe-core %s from the npm registry: %v", axeVersion, err)
	default:
		t.Skipf("axe-core %s is not in the cache, and can't be fetched from the npm registry: %v", axeVersion, err)
	}
	return program
}

// axe keeps the archive, and not what is in it, so that its hash is checked each time.
func axe(ctx context.Context) (string, error) {
	cache, err := home.Cache()
	if err != nil {
		return "", err
	}
	name := filepath.Join(cache, "axe-core-"+axeVersion+".tgz")
	archive, err := os.ReadFile(name)
	if err == nil && checkAxe(archive) == nil {
		return unpackAxe(archive)
	}
	if archive, err = fetchAxe(ctx); err != nil {
		return "", err
	}
	if err := checkAxe(archive); err != nil {
		return "", err
	}
	// Without a cache that can be written to, it is fetched again the next time.
	if os.MkdirAll(cache, 0o755) == nil {
		_ = os.WriteFile(name, archive, 0o644)
	}
	return unpackAxe(archive)
}

// fetchAxe asks npm, which knows this machine's registry and proxy. Without npm, it asks the registry itself.
func fetchAxe(ctx context.Context) ([]byte, error) {
	if npm, err := exec.LookPath("npm"); err == nil {
		return packAxe(ctx, npm)
	}
	registry := strings.TrimSuffix(cmp.Or(os.Getenv("npm_config_registry"), os.Getenv("NPM_CONFIG_REGISTRY"), "https://registry.npmjs.org"), "/")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, registry+"/axe-core/-/axe-core-"+axeVersion+".tgz", http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", request.URL, answer.Status)
	}
	return io.ReadAll(io.LimitReader(answer.Body, 16<<20))
}

func packAxe(ctx context.Context, npm string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "axe")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	command := exec.CommandContext(ctx, npm, "pack", "--silent", "--pack-destination", dir, "axe-core@"+axeVersion)
	if out, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm pack: %w: %s", err, bytes.TrimSpace(out))
	}
	return os.ReadFile(filepath.Join(dir, "axe-core-"+axeVersion+".tgz"))
}

func checkAxe(archive []byte) error {
	sum := sha512.Sum512(archive)
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum[:]); got != axeIntegrity {
		return fmt.Errorf("the hash is %s, expected %s", got, axeIntegrity)
	}
	return nil
}

func unpackAxe(archive []byte) (string, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return "", err
	}
	files := tar.NewReader(unzipped)
	for {
		switch header, err := files.Next(); {
		case errors.Is(err, io.EOF):
			return "", errors.New("the archive has no axe.min.js")
		case err != nil:
			return "", err
		case header.Name == "package/axe.min.js":
			program, err := io.ReadAll(files)
			return string(program), err
		}
	}
}
