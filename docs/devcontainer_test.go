package docs_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/tier"
)

const devcontainerFile = ".devcontainer/devcontainer.json"

type devcontainer struct {
	Image             string
	Mounts            []string
	PostCreateCommand string
}

func readDevcontainer(t *testing.T) devcontainer {
	t.Helper()
	var container devcontainer
	if err := json.Unmarshal([]byte(read(t, devcontainerFile)), &container); err != nil {
		t.Fatal(err)
	}
	return container
}

// TestDevcontainerKeepsCaches requires that the caches of the user root, in an image whose GOPATH is /go, are on volumes.
func TestDevcontainerKeepsCaches(t *testing.T) {
	container := readDevcontainer(t)
	if !strings.HasPrefix(container.Image, "docker.io/library/golang:") {
		t.Fatalf("the image is %s: change the paths in this test to those of its user", container.Image)
	}
	list := exec.CommandContext(t.Context(), "go", "env", "GOCACHE", "GOMODCACHE")
	list.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/root", "GOPATH=/go", "GOENV=off"}
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	caches := append(strings.Fields(string(out)), "/root/.cache/operator-testbed")
	target := regexp.MustCompile(`^source=[a-z-]+,target=([^,]+),type=volume$`)
	for _, cache := range caches {
		if !slices.ContainsFunc(container.Mounts, func(mount string) bool {
			match := target.FindStringSubmatch(mount)
			return len(match) == 2 && (cache+"/" == match[1]+"/" || strings.HasPrefix(cache, match[1]+"/"))
		}) {
			t.Errorf("%s is on none of the volumes %q", cache, container.Mounts)
		}
	}
}

// TestDevcontainerIsPrepared runs the commands of a new container on this machine.
func TestDevcontainerIsPrepared(t *testing.T) {
	tier.All(t)
	said := shell(t, repository, readDevcontainer(t).PostCreateCommand, "GIT_CONFIG_GLOBAL="+t.TempDir()+"/gitconfig")
	if !strings.Contains(said, "Go") || !strings.HasSuffix(said, "Ready: make demo shows an operator at work, and make lists the other targets.\n") {
		t.Errorf("the container is prepared like this:\n%s", said)
	}
}
