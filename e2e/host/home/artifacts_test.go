package home_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/example/operator-testbed/e2e/host/home"
)

// On a machine with several users, others may have taken the name of the directory among the temporary files.
func TestArtifacts(t *testing.T) {
	elsewhere := t.TempDir()
	for name, test := range map[string]struct {
		taken func(path string) error
		used  bool // the directory has the usual name
	}{
		"nothing is there":             {func(string) error { return nil }, true},
		"from an earlier run":          {func(path string) error { return os.Mkdir(path, 0o700) }, true},
		"a file":                       {func(path string) error { return os.WriteFile(path, nil, 0o600) }, false},
		"a symbolic link":              {func(path string) error { return os.Symlink(elsewhere, path) }, false},
		"a symbolic link to nothing":   {func(path string) error { return os.Symlink(path+"-none", path) }, false},
		"a directory that others read": {func(path string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o755)) }, false},
		"another user's directory":     {anothers, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TESTBED_ARTIFACTS", "")
			temporary := t.TempDir()
			t.Setenv("TMPDIR", temporary)
			t.Setenv(home.TemporaryVariable, "")
			usual := filepath.Join(temporary, fmt.Sprintf("testbed-artifacts-%d", os.Getuid()))
			if err := test.taken(usual); os.IsPermission(err) {
				t.Skip("only root can give a directory to another user")
			} else if err != nil {
				t.Fatal(err)
			}
			dir, err := home.Artifacts()
			if err != nil {
				t.Fatal(err)
			}
			if (dir == usual) != test.used || filepath.Dir(dir) != temporary {
				t.Errorf("got %s", dir)
			}
			if info, err := os.Lstat(dir); err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
				t.Errorf("%s is not a private directory: %v, %v", dir, info, err)
			}
			if err := os.WriteFile(filepath.Join(dir, "evidence"), nil, 0o600); err != nil {
				t.Error(err)
			}
		})
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 {
		t.Errorf("the link was followed: %v, %v", entries, err)
	}
}

func anothers(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	return os.Chown(path, os.Getuid()+1, -1)
}

func TestArtifactsByVariable(t *testing.T) {
	want := filepath.Join(t.TempDir(), "some", "where")
	t.Setenv("TESTBED_ARTIFACTS", want)
	if dir, err := home.Artifacts(); err != nil || dir != want {
		t.Errorf("got %s, %v; expected %s", dir, err, want)
	}
	if info, err := os.Stat(want); err != nil || !info.IsDir() {
		t.Errorf("it is not a directory: %v", err)
	}
}
