package cluster_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/cluster"
)

// TestCapabilities says what each kind of cluster can do before it is up. Suites skip what depends on the rest.
func TestCapabilities(t *testing.T) {
	for kind, want := range map[string]string{
		"embedded": "Own CallsHost AuditLog Control Compact Stored",
		"kind":     "Own RunsPods HostAddress AuditLog LoadImage LoadImageArchive Stock StockAs Signal StopNode StartNode",
		"existing": "RunsPods",
	} {
		p, err := cluster.New(kind, cluster.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var can []string
		for field, value := range reflect.ValueOf(p.Capabilities()).Fields() {
			if !value.IsZero() {
				can = append(can, field.Name)
			}
		}
		if got := strings.Join(can, " "); got != want {
			t.Errorf("%s: expected that it can %s, got %s", kind, want, got)
		}
	}
}

// A cluster that the testbed did not create is never the one that $TESTBED_CLUSTER names, whose objects are deleted.
func TestExistingIsNotShared(t *testing.T) {
	const want = "TESTBED_CLUSTER=stay names a cluster of the testbed, and CLUSTER=existing is another one: unset TESTBED_CLUSTER"
	if _, err := cluster.New("existing", cluster.Options{Attached: "stay"}); err == nil || err.Error() != want {
		t.Errorf("expected %q, got %v", want, err)
	}
}

func TestControlRefusesWhatIsNoAction(t *testing.T) {
	p, err := cluster.New("embedded", cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `unknown action "frown at" on etcd`
	if err := p.Capabilities().Control(t.Context(), cluster.Etcd, "frown at"); err == nil || err.Error() != want {
		t.Errorf("expected %s, got %v", want, err)
	}
}
