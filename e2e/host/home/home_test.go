package home_test

import (
	"path/filepath"
	"testing"

	"github.com/example/operator-testbed/e2e/host/home"
)

func TestDirectories(t *testing.T) {
	for _, test := range []struct {
		name  string
		find  func() (string, error)
		env   map[string]string
		want  string
		tails bool // want is only the end of the path
	}{
		{name: "cache by variable", find: home.Cache, env: map[string]string{"TESTBED_CACHE": "/srv/cache"}, want: "/srv/cache"},
		{name: "cache by default", find: home.Cache, env: map[string]string{"HOME": "/home/ada"}, want: "/operator-testbed", tails: true},
		{name: "state by variable", find: home.State, env: map[string]string{"TESTBED_STATE": "/run/t", "XDG_STATE_HOME": "/x"}, want: "/run/t"},
		{name: "state by XDG", find: home.State, env: map[string]string{"XDG_STATE_HOME": "/x", "HOME": "/home/ada"}, want: "/x/operator-testbed"},
		{name: "state by a relative XDG, which is ignored", find: home.State, env: map[string]string{"XDG_STATE_HOME": "x", "HOME": "/home/ada"}, want: "/home/ada/.local/state/operator-testbed"},
		{name: "state by default", find: home.State, env: map[string]string{"HOME": "/home/ada"}, want: "/home/ada/.local/state/operator-testbed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, name := range []string{"TESTBED_CACHE", "TESTBED_STATE", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
				t.Setenv(name, test.env[name])
			}
			if dir, ok := test.env["HOME"]; ok {
				t.Setenv("HOME", dir)
			}
			got, err := test.find()
			if err != nil {
				t.Fatal(err)
			}
			if test.tails {
				if !filepath.IsAbs(got) || filepath.Base(got) != filepath.Base(test.want) {
					t.Errorf("expected an absolute path that ends in %s, got %s", test.want, got)
				}
			} else if got != test.want {
				t.Errorf("expected %s, got %s", test.want, got)
			}
		})
	}
}

func TestNoHome(t *testing.T) {
	for _, name := range []string{"TESTBED_CACHE", "TESTBED_STATE", "XDG_STATE_HOME", "XDG_CACHE_HOME", "HOME"} {
		t.Setenv(name, "")
	}
	if _, err := home.Cache(); err == nil {
		t.Error("Cache: expected an error that names TESTBED_CACHE, got none")
	}
	if _, err := home.State(); err == nil {
		t.Error("State: expected an error that names TESTBED_STATE, got none")
	}
}

// kind/kubernetes refuses it with the same sentence.
func TestRelativeCache(t *testing.T) {
	t.Setenv("TESTBED_CACHE", "mine")
	const want = "TESTBED_CACHE is mine: it must be an absolute path"
	if _, err := home.Cache(); err == nil || err.Error() != want {
		t.Errorf("got %v, expected %q", err, want)
	}
}

// Programs in several working directories share the state, too.
func TestRelativeState(t *testing.T) {
	t.Setenv("TESTBED_STATE", "mine")
	const want = "TESTBED_STATE is mine: it must be an absolute path"
	if got, err := home.State(); err == nil || err.Error() != want {
		t.Errorf("got %s and %v, expected %q", got, err, want)
	}
}
