package docs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/tier"
)

const devcontainerFile = ".devcontainer/devcontainer.json"

// TestDevcontainerIsPrepared runs the commands of a new container on this machine.
func TestDevcontainerIsPrepared(t *testing.T) {
	tier.All(t)
	var container struct{ PostCreateCommand string }
	if err := json.Unmarshal([]byte(read(t, devcontainerFile)), &container); err != nil {
		t.Fatal(err)
	}
	said := shell(t, repository, container.PostCreateCommand, "GIT_CONFIG_GLOBAL="+t.TempDir()+"/gitconfig")
	if !strings.Contains(said, "Go") || !strings.HasSuffix(said, "Ready: make demo shows an operator at work, and make lists the other targets.\n") {
		t.Errorf("the container is prepared like this:\n%s", said)
	}
}
