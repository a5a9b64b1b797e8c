package kind

import (
	"os"
	"path/filepath"
	"testing"
)

// fakeDocker puts a script on PATH in place of Docker, with the cases of a shell's case statement about what it is asked for. asked
// returns what that was, a line each.
func fakeDocker(t *testing.T, cases string) (asked func() string) {
	t.Helper()
	bin := t.TempDir()
	log := filepath.Join(bin, "asked")
	script := "#!/bin/sh\necho \"$*\" >>" + log + "\ncase \"$*\" in\n" + cases + "\nesac\n"
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv(engineVariable, "docker")
	return func() string {
		said, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(said)
	}
}
