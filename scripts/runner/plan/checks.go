package plan

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/example/operator-testbed/scripts/runner/git"
	"github.com/example/operator-testbed/scripts/runner/process"
)

// largest is the size in bytes that no source has.
const largest = 1_000_000

// noBinary checks that no file in git is larger than a source. What `go build` leaves in a directory is easily committed by mistake, and
// then stays in the history.
func noBinary(root string) func(context.Context, io.Writer) error {
	return func(ctx context.Context, out io.Writer) error {
		list, err := git.Output(ctx, root, "ls-files", "-z")
		if err != nil {
			return err
		}
		found := false
		for name := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
			if info, err := os.Lstat(filepath.Join(root, name)); err == nil && info.Size() > largest {
				found = true
				fmt.Fprintln(out, name)
			}
		}
		if found {
			return errors.New("these files are larger than 1 MB, as no source is")
		}
		return nil
	}
}

// nothingChanged checks that the working tree is what was committed.
func nothingChanged(root string) func(context.Context, io.Writer) error {
	return func(ctx context.Context, out io.Writer) error {
		changed, err := git.Output(ctx, root, "status", "--porcelain")
		if err == nil && changed != "" {
			fmt.Fprint(out, changed)
			err = errors.New("the working tree is not what was committed")
		}
		return err
	}
}

// stateOfCI returns the directory of the clusters of .ci/run in this clone. It is the same at each run, because Go's cache holds a test's
// result only for the same environment, and it is short, because sockets are in it.
func stateOfCI(root string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(root))
	return filepath.Join(os.TempDir(), fmt.Sprintf("testbed-ci-%d-%08x", os.Getuid(), hash.Sum32()))
}

// emptyState makes the directory for clusters, and removes what an earlier run has left there unless it still runs.
func emptyState(state string) func(context.Context, io.Writer) error {
	return func(_ context.Context, out io.Writer) error {
		running, err := naming(state)
		if err != nil {
			return err
		}
		if running != "" {
			fmt.Fprint(out, running)
			return fmt.Errorf("processes of an earlier run are left in %s, or another .ci/run is running: end them first", state)
		}
		if err := os.RemoveAll(state); err != nil {
			return err
		}
		return os.Mkdir(state, 0o700)
	}
}

// nothingLeft checks that no process and no file is left of the clusters in a directory, and removes it.
func nothingLeft(state string) func(context.Context, io.Writer) error {
	return func(_ context.Context, out io.Writer) error {
		left, err := naming(state)
		if err != nil {
			return err
		}
		err = filepath.WalkDir(state, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				left += path + "\n"
			}
			return err
		})
		if err != nil {
			return err
		}
		if left != "" {
			fmt.Fprint(out, left)
			return errors.New("these processes and files are left")
		}
		return os.RemoveAll(state)
	}
}

// naming returns the processes whose command line names a path, one in each line.
func naming(path string) (string, error) {
	all, err := process.List()
	if err != nil {
		return "", fmt.Errorf("list processes: %w", err)
	}
	var found strings.Builder
	for _, p := range all {
		if strings.Contains(p.Arguments, path) {
			fmt.Fprintln(&found, p.PID, p.Arguments)
		}
	}
	return found.String(), nil
}

// browser installs Chromium, in which pages are tested, and bubblewrap, one of the walls around what students hand in. Where it can't,
// tests print what is missing.
func browser(ctx context.Context, out io.Writer) error {
	has := func(names ...string) bool {
		for _, name := range names {
			if _, err := exec.LookPath(name); err == nil {
				return true
			}
		}
		return false
	}
	if has("chromium", "chromium-browser", "google-chrome") && has("bwrap") || os.Getuid() != 0 || !has("apt-get") {
		return nil
	}
	for _, arguments := range [][]string{{"-qq", "update"}, {"-qq", "install", "--no-install-recommends", "chromium", "bubblewrap"}} {
		command := exec.CommandContext(ctx, "apt-get", arguments...)
		command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		command.Stderr = out
		if err := command.Run(); err != nil {
			return fmt.Errorf("apt-get %s: %w", strings.Join(arguments, " "), err)
		}
	}
	return nil
}
