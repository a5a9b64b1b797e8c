package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/audit"
	"github.com/example/operator-testbed/e2e/expect"
	"github.com/example/operator-testbed/e2e/history"
)

// keepTimeout bounds what is done for a test that has failed already.
const keepTimeout = 30 * time.Second

// keep writes down what there is to see of a failure, in a folder that Run names in the end.
func (s *Suite) keep(t *testing.T, scope *Scope) {
	ctx, cancel := context.WithTimeout(context.Background(), keepTimeout)
	defer cancel()
	folder, err := artifactsFolder(s.options.Name, t.Name())
	if err != nil {
		t.Logf("keeping what is seen of the failure: %v", err)
		return
	}
	for _, kind := range append(s.options.Record, corev1.SchemeGroupVersion.WithKind("Pod"), eventsv1.SchemeGroupVersion.WithKind("Event")) {
		s.keepFile(t, folder, strings.ToLower(kind.Kind)+"s.yaml", func() ([]byte, error) { return s.dump(ctx, kind, scope.Namespace) })
	}
	s.keepFile(t, folder, "timeline.txt", func() ([]byte, error) { return []byte(timeline(scope.History.Versions())), nil })
	for _, replica := range scope.Operator.Replicas() {
		s.keepFile(t, folder, replica.Name()+".log", func() ([]byte, error) { return os.ReadFile(replica.LogFile()) })
	}
	if scope.Audit != nil {
		s.keepFile(t, folder, "writes.txt", func() ([]byte, error) {
			events, err := scope.Audit.Since(0, audit.Writes, audit.InNamespace(scope.Namespace))
			return []byte(audit.Describe(events)), err
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.artifacts = append(s.artifacts, folder)
}

// artifactsFolder makes a folder for a failed test: in $TESTBED_ARTIFACTS, or else among the temporary files.
func artifactsFolder(suite, test string) (string, error) {
	parent := os.Getenv("TESTBED_ARTIFACTS")
	if parent == "" {
		parent = filepath.Join(os.TempDir(), "testbed-artifacts")
	}
	parent = filepath.Join(parent, suite)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, strings.ReplaceAll(test, "/", "-")+"-")
}

// keepFile writes one file. A failure to do so is told, and must not hide the failure that it is about.
func (s *Suite) keepFile(t *testing.T, folder, name string, content func() ([]byte, error)) {
	data, err := content()
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name), data, 0o644)
	}
	if err != nil {
		t.Logf("keeping %s: %v", name, err)
	}
}

func (s *Suite) dump(ctx context.Context, kind schema.GroupVersionKind, namespace string) ([]byte, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := s.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	return yaml.Marshal(list)
}

// timeline renders a history, one version a line, with the conditions of what has any.
func timeline(versions []history.Version) string {
	var b strings.Builder
	for _, v := range versions {
		what := "stored"
		if v.Deleted {
			what = "deleted"
		}
		fmt.Fprintf(&b, "%s revision %d %s %s %s", v.Seen.UTC().Format("15:04:05.000"), v.Revision, v.Object.GetKind(), v.Object.GetName(), what)
		conditions, err := expect.ConditionsOf(v.Object)
		if err != nil {
			fmt.Fprintf(&b, " (%v)", err)
		}
		for _, c := range conditions {
			fmt.Fprintf(&b, " %s=%s/%s", c.Type, c.Status, c.Reason)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
