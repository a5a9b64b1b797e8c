package kind

import (
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/example/operator-testbed/e2e/host/home"
)

// longest is how long a cluster's name may be: a node's name is a host name, of 63 characters at most, and ends in
// -control-plane or -worker2.
const longest = 63 - len(prefix) - len("-control-plane")

// prefix distinguishes the testbed's clusters from others in a list of containers.
const prefix = "operator-testbed-"

// inKind is what kind calls the cluster of a name.
func inKind(name string) string { return prefix + name }

// layout says where the files of one cluster are.
type layout string

func layoutOf(name string) (layout, error) {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 || len(name) > longest {
		return "", fmt.Errorf("%q is not a valid name for a kind cluster: use lower-case letters, digits and '-', at most %d of them", name, longest)
	}
	state, err := home.State()
	return layout(filepath.Join(state, "kind", name)), err
}

// kubeconfig is the administrator's.
func (l layout) kubeconfig() string { return filepath.Join(string(l), "kubeconfig") }

// logs is a directory of the first node, too.
func (l layout) logs() string { return filepath.Join(string(l), "logs") }

func (l layout) auditLog() string { return filepath.Join(l.logs(), "audit.log") }

// claim is the file of the cluster's claim.
func (l layout) claim() string { return filepath.Join(string(l), "claim") }

// neighbors is the directory of all clusters of this state.
func (l layout) neighbors() string { return filepath.Dir(string(l)) }

// shared is a file that is locked while the registry is needed or being removed. No cluster can have its name.
func (l layout) shared() string { return filepath.Join(l.neighbors(), ".shared") }
