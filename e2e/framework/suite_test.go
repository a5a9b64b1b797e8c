package framework

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/record"
	"github.com/example/operator-testbed/e2e/reaper"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// inner is set where this executable runs as a suite of its own, whose words and exit code are tested.
const inner = "SUITE_TEST_INNER"

var tiny = New(Options{Name: "tiny"})

func TestMain(m *testing.M) {
	if os.Getenv(inner) != "" {
		os.Exit(tiny.Run(m))
	}
	os.Exit(reaper.Run(m))
}

// TestInner is the suite's only feature.
func TestInner(t *testing.T) {
	if os.Getenv(inner) == "" {
		return
	}
	tiny.Feature("none").Test(t)
}

// run runs the suite in a process of its own.
func run(t *testing.T, env ...string) (output string, code int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestInner$", "-test.v")
	cmd.Env = append(append(os.Environ(), inner+"=yes", "CLUSTER=", "TESTBED_TIMEOUT="), env...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestSkipsWithoutACluster(t *testing.T) {
	output, code := run(t)
	if code != 0 {
		t.Errorf("exit code %d, expected 0", code)
	}
	for _, want := range []string{"--- SKIP: TestInner", "this suite needs a cluster: run it with `make test`, or with `make e2e CLUSTER=embedded`"} {
		if !strings.Contains(output, want) {
			t.Errorf("it says no %q:\n%s", want, output)
		}
	}
}

func TestRefusesWrongSettings(t *testing.T) {
	for want, env := range map[string][]string{
		"the suite tiny: TESTBED_TIMEOUT=soon is not a duration: give one such as 10s\n":        {"CLUSTER=embedded", "TESTBED_TIMEOUT=soon"},
		"the suite tiny: TESTBED_TIMEOUT_FAILING=-1s is not a duration: give one such as 10s\n": {"CLUSTER=embedded", "TESTBED_TIMEOUT_FAILING=-1s"},
		"the suite tiny: invalid TESTBED_SEED \"lucky\": want a whole number such as 7\n":       {"CLUSTER=embedded", "TESTBED_SEED=lucky"},
		"the suite tiny: there is no CLUSTER=nonsense: ":                                        {"CLUSTER=nonsense"},
	} {
		output, code := run(t, env...)
		if code != 1 || !strings.HasPrefix(output, want) {
			t.Errorf("with %q: exit code %d and %q, expected 1 and %q", env, code, output, want)
		}
	}
}

// meta is the metadata of an object in the feature's namespace.
func metaOf(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "feature", Name: name}
}

func TestDirectoryOfAFailure(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, cachev1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	objects := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&cachev1alpha1.Memcached{ObjectMeta: metaOf("the-cr")},
		&appsv1.Deployment{ObjectMeta: metaOf("the-deployment")},
		&corev1.Pod{ObjectMeta: metaOf("the-pod")},
		&eventsv1.Event{ObjectMeta: metaOf("the-event")},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "another", Name: "not-ours"}},
	).Build()
	sources := t.TempDir()
	operatorLog, auditLog := filepath.Join(sources, "operator.log"), filepath.Join(sources, "audit.log")
	for path, content := range map[string]string{operatorLog: "reconciled the-cr\n", auditLog: ""} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	directory := t.TempDir()
	err := failure{
		client: objects, namespace: "feature", logs: map[string]string{"operator": operatorLog}, audit: audit.Open(auditLog), seed: 7,
		kinds: []schema.GroupVersionKind{
			cachev1alpha1.GroupVersion.WithKind("Memcached"), appsv1.SchemeGroupVersion.WithKind("Deployment"), corev1.SchemeGroupVersion.WithKind("Pod"),
		},
		versions: []record.Version{version(t, 7, "False", "ReplicasNotReady", false), version(t, 9, "True", "AllReplicasReady", false), version(t, 12, "True", "AllReplicasReady", true)},
	}.write(t.Context(), directory)
	if err != nil {
		t.Error(err)
	}
	for name, wants := range map[string][]string{
		"memcacheds.yaml":  {"name: the-cr"},
		"deployments.yaml": {"name: the-deployment"},
		"pods.yaml":        {"name: the-pod"},
		"events.yaml":      {"name: the-event"},
		"operator.log":     {"reconciled the-cr"},
		"timeline.txt": {
			"10:20:07.000 revision 7 Memcached the-cr stored Available=False/ReplicasNotReady\n",
			"10:20:09.000 revision 9 Memcached the-cr stored Available=True/AllReplicasReady\n",
			"10:20:12.000 revision 12 Memcached the-cr deleted Available=True/AllReplicasReady\n",
		},
		"writes.txt": nil,
		"seed.txt":   {"TESTBED_SEED=7\n"},
	} {
		content, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, want := range wants {
			if !bytes.Contains(content, []byte(want)) {
				t.Errorf("%s has no %q:\n%s", name, want, content)
			}
		}
		if bytes.Contains(content, []byte("not-ours")) {
			t.Errorf("%s has what is in another namespace:\n%s", name, content)
		}
	}
}

// What can't be had is named, and the rest is kept.
func TestDirectoryOfAFailureWithoutALog(t *testing.T) {
	directory := t.TempDir()
	err := failure{
		client: fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build(), namespace: "feature", logs: map[string]string{"operator": filepath.Join(t.TempDir(), "none")},
	}.write(t.Context(), directory)
	if err == nil || !strings.HasPrefix(err.Error(), "operator.log: ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, expected one error, about operator.log", err)
	}
	var names []string
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if want := []string{"events.yaml", "pods.yaml", "seed.txt", "timeline.txt"}; !slices.Equal(names, want) {
		t.Errorf("kept %q, expected %q", names, want)
	}
}

// version is one of the CR's, seen as many seconds after 10:20 as its revision counts.
func version(t *testing.T, revision uint64, status, reason string, deleted bool) record.Version {
	t.Helper()
	seen := time.Date(2026, 1, 2, 10, 20, int(revision), 0, time.UTC)
	return record.Version{Revision: revision, Seen: seen, Deleted: deleted, Object: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": cachev1alpha1.GroupVersion.String(), "kind": "Memcached",
		"metadata": map[string]any{"namespace": "feature", "name": "the-cr"},
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Available", "status": status, "reason": reason},
		}},
	}}}
}

func TestArtifactsDirectory(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TESTBED_ARTIFACTS", parent)
	first, err := artifactsDirectory("tiny", "TestScale/up")
	if err != nil {
		t.Fatal(err)
	}
	second, err := artifactsDirectory("tiny", "TestScale/up")
	if err != nil {
		t.Fatal(err)
	}
	if first == second || !strings.HasPrefix(first, filepath.Join(parent, "tiny", "TestScale-up-")) {
		t.Errorf("got %s and %s, expected two directories for the test in %s", first, second, parent)
	}
}

func TestPrintLast(t *testing.T) {
	const want = "What was seen of a failure: /a\nWhat was seen of a failure: /b\n"
	t.Setenv("TESTBED_FAILURES", "")
	var out bytes.Buffer
	if err := printLast([]string{"What was seen of a failure: /a", "What was seen of a failure: /b"}, &out); err != nil || out.String() != want {
		t.Errorf("it says %q, %v, expected %q", &out, err, want)
	}

	path := filepath.Join(t.TempDir(), "failures")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TESTBED_FAILURES", path)
	out.Reset()
	for _, directory := range []string{"/a", "/b"} { // two suites
		if err := printLast([]string{"What was seen of a failure: " + directory}, &out); err != nil {
			t.Error(err)
		}
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != want || out.Len() > 0 {
		t.Errorf("the file has %q, %v, and out %q, expected %q in the file only", content, err, &out, want)
	}
}
