package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

func TestResetPlan(t *testing.T) {
	t.Parallel()
	const automanaged = `{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":"true"}}}`
	is := func(value string, revision int64) stored {
		return stored{Value: []byte(value), Created: revision, Modified: revision}
	}
	for name, c := range map[string]struct {
		baseline, now contents
		want          []string
	}{
		"nothing": {
			baseline: contents{"/registry/namespaces/default": is("a", 1)},
			now:      contents{"/registry/namespaces/default": is("a", 9)}, // as it was, again
		},
		"in the order in which they came": {
			now: contents{
				"/registry/pods/n/p": is("", 13), "/registry/deployments/n/d": is("", 11), "/registry/replicasets/n/r": is("", 12), "/registry/namespaces/n": is("", 10),
			},
			want: []string{"-/registry/namespaces/n", "-/registry/deployments/n/d", "-/registry/replicasets/n/r", "-/registry/pods/n/p"},
		},
		"parts of a role before the whole": {
			baseline: contents{"/registry/clusterroles/admin": is("a", 3), "/registry/clusterroles/view": is("v", 2)},
			now: contents{
				"/registry/clusterroles/admin": is("b", 12), "/registry/clusterroles/view": is("w", 11), "/registry/clusterroles/mine": is("m", 10),
			},
			want: []string{"-/registry/clusterroles/mine", "+/registry/clusterroles/view", "+/registry/clusterroles/admin"},
		},
		"what is missing": {
			baseline: contents{"/registry/minions/node-0": is("n", 1), "/registry/ranges/servicenodeports": is("r", 2)},
			want:     []string{"+/registry/minions/node-0", "+/registry/ranges/servicenodeports"},
		},
		"what the cluster itself renews": {
			baseline: contents{
				"/registry/events/default/old": is("e", 1), "/registry/peerserverleases/a": is("p", 1),
				"/registry/leases/kube-system/apiserver-a": is("i", 1),
			},
			now: contents{
				"/registry/peerserverleases/b": is("p", 9), "/registry/leases/kube-system/apiserver-a": is("j", 9),
			},
		},
		"the same kinds, of others": {
			now: contents{
				"/registry/leases/kube-node-lease/node-9": is("", 1), "/registry/leases/kube-system/leader": is("", 2), "/registry/events/default/new": is("", 3),
			},
			want: []string{"-/registry/leases/kube-node-lease/node-9", "-/registry/leases/kube-system/leader", "-/registry/events/default/new"},
		},
		"kinds stay, their objects go": {
			baseline: contents{"/registry/apiextensions.k8s.io/customresourcedefinitions/old": is("o", 1)},
			now: contents{
				"/registry/apiextensions.k8s.io/customresourcedefinitions/old": is("changed", 8), "/registry/apiextensions.k8s.io/customresourcedefinitions/new": is("n", 9),
				"/registry/apiregistration.k8s.io/apiservices/v1.group.example.com": is(automanaged, 10), "/registry/apiregistration.k8s.io/apiservices/v1.mine": is("{}", 11),
				"/registry/group.example.com/things/n/thing": is("{}", 12),
			},
			want: []string{"-/registry/apiregistration.k8s.io/apiservices/v1.mine", "-/registry/group.example.com/things/n/thing"},
		},
		"a kind that is being deleted": {
			baseline: contents{"/registry/apiextensions.k8s.io/customresourcedefinitions/old": is("{}", 1)},
			now: contents{
				"/registry/apiextensions.k8s.io/customresourcedefinitions/old": is(`{"metadata":{"deletionTimestamp":"2026-01-02T10:20:00Z"}}`, 8),
				"/registry/apiextensions.k8s.io/customresourcedefinitions/new": is(`{"metadata":{"deletionTimestamp":"2026-01-02T10:20:00Z"}}`, 9),
			},
			want: []string{"-/registry/apiextensions.k8s.io/customresourcedefinitions/old", "-/registry/apiextensions.k8s.io/customresourcedefinitions/new"},
		},
	} {
		var got []string
		for _, change := range resetPlan(c.baseline, c.now, staysAfterReset) {
			sign := "-"
			if change.value != nil {
				sign = "+"
			}
			got = append(got, sign+change.key)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\nexpected %q,\ngot      %q", name, c.want, got)
		}
	}
}

// fakeStore is an etcd that may refuse to delete a key, and then calls refused.
type fakeStore struct {
	contents
	stubborn string
	refused  func()
}

func (f *fakeStore) read(context.Context) (contents, int64, error) {
	return maps.Clone(f.contents), 0, nil
}

func (f *fakeStore) apply(_ context.Context, changes []change) error {
	for _, change := range changes {
		switch {
		case change.value != nil:
			f.contents[change.key] = stored{Value: change.value}
		case change.key == f.stubborn:
			f.refused()
		default:
			delete(f.contents, change.key)
		}
	}
	return nil
}

func TestCleanStore(t *testing.T) {
	t.Parallel()
	configMap := []byte(`{"kind":"ConfigMap","apiVersion":"v1"}`)
	baseline := contents{"/registry/configmaps/default/kept": {Value: configMap}}
	dirty := func() contents {
		return contents{
			"/registry/configmaps/default/stays":    {Value: configMap},
			"/registry/services/specs/default/goes": {Value: []byte("k8s\x00\n\r\n\x02v1\x12\aService")},
		}
	}
	touched := map[string]bool{}
	etcd := &fakeStore{contents: dirty()}
	for _, dirty := range []bool{true, false} {
		_, changed, err := cleanStore(t.Context(), etcd, baseline, touched, staysAfterReset)
		if err != nil || changed != dirty || len(resetPlan(baseline, etcd.contents, staysAfterReset)) > 0 || len(touched) != 3 {
			t.Errorf("expected the baseline after three changes, got %v, %t, %v, touched %v", etcd.contents, changed, err, touched)
		}
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	refused := func() { cancel(errors.New("too long")) }
	_, _, err := cleanStore(ctx, &fakeStore{contents: dirty(), stubborn: "/registry/configmaps/default/stays", refused: refused}, baseline, touched, staysAfterReset)
	if want := "configmaps/default/stays is left: too long"; err == nil || err.Error() != want {
		t.Errorf("expected %q, got %v", want, err)
	}
	_, _, err = cleanStore(ctx, &fakeStore{contents: dirty()}, baseline, touched, staysAfterReset) // which has no time at all
	if want := "configmaps/default/stays, services/specs/default/goes, configmaps/default/kept is left: too long"; err == nil || err.Error() != want {
		t.Errorf("expected %q, got %v", want, err)
	}
}

func TestUnsettled(t *testing.T) {
	t.Parallel()
	const (
		part  = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"part","labels":{"to":"whole"}},"rules":[{"verbs":["get"],"resources":["pods"]}]}`
		whole = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"whole"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"to":"whole"}}]}%s}`
	)
	for want, change := range map[string]func(contents){
		"":                                  func(contents) {},
		"services/specs/default/kubernetes": func(all contents) { delete(all, registry+"services/specs/default/kubernetes") },
		"serviceaccounts/default/default":   func(all contents) { delete(all, registry+"serviceaccounts/default/default") },
		"the ClusterRole whole":             func(all contents) { all[registry+"clusterroles/whole"] = stored{Value: fmt.Appendf(nil, whole, "")} },
	} {
		all := contents{
			registry + "namespaces/default": {}, registry + "serviceaccounts/default/default": {}, registry + "configmaps/default/kube-root-ca.crt": {},
			registry + "clusterroles/part":  {Value: []byte(part)},
			registry + "clusterroles/whole": {Value: fmt.Appendf(nil, whole, `,"rules":[{"verbs":["get"],"resources":["pods"]}]`)},
		}
		for _, key := range madeByServer {
			all[registry+key] = stored{}
		}
		change(all)
		if got, err := unsettled(all); err != nil || got != want {
			t.Errorf("expected to wait for %q, got %q, %v", want, got, err)
		}
	}
}

func TestOutlived(t *testing.T) {
	t.Parallel()
	at := func(name string, state supervisor.State, started int) supervisor.ProcessStatus {
		return supervisor.ProcessStatus{Name: name, State: state, Started: time.Unix(int64(started), 0)}
	}
	for name, c := range map[string]struct {
		processes []supervisor.ProcessStatus
		want      []string
	}{
		"as new": {processes: []supervisor.ProcessStatus{
			at(Etcd, supervisor.Running, 1), at(KubeAPIServer, supervisor.Running, 2), at(KubeScheduler, supervisor.Running, 3), at("operator", supervisor.Exited, 9),
		}},
		"stopped": {
			processes: []supervisor.ProcessStatus{at(Etcd, supervisor.Running, 1), at(KubeScheduler, supervisor.Stopped, 3), at(Kwok, supervisor.Running, 3)},
			want:      []string{KubeScheduler},
		},
		"older than kube-apiserver": {
			processes: []supervisor.ProcessStatus{at(Etcd, supervisor.Running, 1), at(KubeAPIServer, supervisor.Running, 4), at(KubeScheduler, supervisor.Running, 3), at(Kwok, supervisor.Running, 5)},
			want:      []string{KubeScheduler},
		},
		"without etcd": {
			processes: []supervisor.ProcessStatus{at(Etcd, supervisor.Paused, 1), at(KubeAPIServer, supervisor.Running, 2), at(Kwok, supervisor.Running, 3)},
			want:      []string{Kwok},
		},
	} {
		if got := outlived(c.processes); !slices.Equal(got, c.want) {
			t.Errorf("%s: expected %q to be restarted, got %q", name, c.want, got)
		}
	}
}
