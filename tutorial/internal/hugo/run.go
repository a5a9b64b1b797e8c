package hugo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// theme is the module of the theme that docs/site/go.mod pins.
const theme = "github.com/imfing/hextra"

// run makes a site with Hugo. It compiles Hugo first if that is new, which takes a minute or two.
func run(ctx context.Context, s Site, content, out string) error {
	const advice = "; without a network, take the site from a bundle (docs/air-gap.md)"
	hugo, err := s.output(ctx, "scripts/tool", Source, "hugo")
	if err != nil {
		return fmt.Errorf("compile Hugo: %w%s", err, advice)
	}
	directory, err := s.theme(ctx)
	if err != nil {
		return fmt.Errorf("fetch the theme %s: %w%s", theme, err, advice)
	}
	var paths [4]string // Hugo takes some paths as below its source
	for i, path := range []string{s.directory(), content, out, filepath.Join(filepath.Dir(content), "cache")} {
		if paths[i], err = filepath.Abs(path); err != nil {
			return err
		}
	}
	// Named in this way, the theme is a directory: Hugo needs no Go command to find it, and fetches nothing.
	command := exec.CommandContext(ctx, strings.TrimSpace(string(hugo)), "--source", paths[0],
		"--themesDir", filepath.Dir(directory), "--theme", filepath.Base(directory),
		"--contentDir", paths[1], "--destination", paths[2], "--cacheDir", paths[3],
		"--baseURL", s.Base, "--environment", "production", "--noBuildLock")
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "HUGO_") })
	said, err := command.CombinedOutput()
	if warnings := complaints(said); err != nil || warnings != "" {
		return fmt.Errorf("make the site: hugo: %w\n%s", cmp.Or(err, errors.New("a warning is as bad as an error")), cmp.Or(warnings, string(bytes.TrimSpace(said))))
	}
	return nil
}

// complaints returns the lines of what Hugo prints that are not about its progress.
func complaints(said []byte) string {
	var found []string
	for line := range strings.Lines(string(said)) {
		if level, _, _ := strings.Cut(line, " "); level == "WARN" || level == "ERROR" || level == "Error:" {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return strings.Join(found, "\n")
}

// theme returns the directory of the theme in Go's module cache.
func (s Site) theme(ctx context.Context) (string, error) {
	out, err := s.output(ctx, "scripts/run", "progress", "downloading the theme", "go", "-C", Source, "mod", "download", "-json", theme)
	var module struct{ Dir, Error string }
	if unreadable := json.Unmarshal(out, &module); err == nil {
		err = unreadable
	}
	if module.Error != "" {
		err = errors.New(module.Error)
	}
	return module.Dir, err
}

// output runs a command of the repository that shows its progress, and returns what it prints.
func (s Site) output(ctx context.Context, name string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, filepath.FromSlash(name), args...)
	command.Dir = s.Root
	// As the Makefile has it: with other flags, the Go command would compile Hugo again.
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+os.Getenv("GOFLAGS")+" -trimpath -buildvcs=false -gcflags=all=-dwarf=false")
	command.Stderr = s.Progress
	// So that it ends what it has started.
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second
	return command.Output()
}
