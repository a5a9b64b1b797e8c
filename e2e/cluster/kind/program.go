package kind

import (
	"os"
	"os/exec"

	kindcluster "sigs.k8s.io/kind/pkg/cluster"
)

// engineVariable is the environment variable by which kind's command line chooses a container engine.
const engineVariable = "KIND_EXPERIMENTAL_PROVIDER"

// Program is the command of the container engine, which all of them understand in the same way as far as it is used here: the
// one that $KIND_EXPERIMENTAL_PROVIDER names; or the first of those that kind looks for, in its order; or docker.
func Program() string {
	return program(os.Getenv(engineVariable), func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	})
}

func program(named string, isThere func(string) bool) string {
	switch named {
	case "docker", "podman", "nerdctl", "finch", "nerdctl.lima":
		return named
	}
	for _, name := range []string{"docker", "nerdctl", "podman"} {
		if isThere(name) {
			return name
		}
	}
	return "docker"
}

// nodeProvider is kind's part for that engine.
func nodeProvider(program string) kindcluster.ProviderOption {
	switch program {
	case "docker":
		return kindcluster.ProviderWithDocker()
	case "podman":
		return kindcluster.ProviderWithPodman()
	default:
		return kindcluster.ProviderWithNerdctl(program)
	}
}
