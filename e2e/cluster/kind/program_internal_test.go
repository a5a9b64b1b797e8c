package kind

import (
	"slices"
	"testing"
)

func TestProgram(t *testing.T) {
	for name, tc := range map[string]struct {
		named string
		there []string
		want  string
	}{
		"none":                          {"", nil, "docker"},
		"Docker before all others":      {"", []string{"podman", "nerdctl", "docker"}, "docker"},
		"then nerdctl":                  {"", []string{"podman", "nerdctl"}, "nerdctl"},
		"then podman":                   {"", []string{"podman"}, "podman"},
		"the one that is named":         {"podman", []string{"docker", "podman"}, "podman"},
		"another name of nerdctl's":     {"finch", []string{"docker"}, "finch"},
		"a name that kind knows not of": {"rkt", []string{"podman"}, "podman"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := program(tc.named, func(name string) bool { return slices.Contains(tc.there, name) }); got != tc.want {
				t.Errorf("got %s, expected %s", got, tc.want)
			}
		})
	}
}
