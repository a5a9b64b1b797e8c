package embedded

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/example/operator-testbed/e2e/host/home"
)

// layout says where the files of one cluster are. All of them are in the
// directory of its supervisor, and go with it.
type layout string

// clustersDir is the directory that holds the directories of the clusters that are up.
func clustersDir() (string, error) {
	state, err := home.State()
	return filepath.Join(state, "clusters"), err
}

func layoutOf(name string) (layout, error) {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return "", fmt.Errorf("%q is not a valid cluster name: use lower-case letters, digits and '-'", name)
	}
	dir, err := clustersDir()
	return layout(filepath.Join(dir, name)), err
}

func (l layout) path(elements ...string) string {
	return filepath.Join(append([]string{string(l)}, elements...)...)
}

// kubeconfig is the administrator's.
func (l layout) kubeconfig() string { return l.path("kubeconfig") }

// kubeconfigOf is the one of a component, or of ourselves.
func (l layout) kubeconfigOf(component string) string {
	if component == admin {
		return l.kubeconfig()
	}
	return l.path("kubeconfigs", component)
}

func (l layout) auditLog() string    { return l.path("audit.log") }
func (l layout) auditPolicy() string { return l.path("audit-policy.yaml") }
func (l layout) stages() string      { return l.path("stages.yaml") }
func (l layout) tokens() string      { return l.path("tokens.csv") }
func (l layout) etcd() string        { return l.path("etcd") }

// baseline is what etcd held when Create returned.
func (l layout) baseline() string { return l.path("baseline.json") }

// version has the version of Kubernetes that the cluster runs.
func (l layout) version() string { return l.path("version") }

// runs returns that version.
func (l layout) runs() string {
	content, err := os.ReadFile(l.version())
	if err != nil { // an earlier testbed has created the cluster
		return Version
	}
	return string(content)
}

func (l layout) etcdData() string { return l.path("etcd", etcdData) }
func (l layout) pki(file string) string {
	return l.path("pki", file)
}

// write writes a file that is nobody else's business, and its directory.
func (l layout) write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}
