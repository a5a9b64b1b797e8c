package demo_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/operator-testbed/e2e/demo"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// A Memcached of size 3 from its creation on, as the demo sees it.
var (
	created    = demo.State{Memcached: sample(3, 1)}
	rollingOut = demo.State{
		Memcached: sample(3, 1,
			condition("Degraded", "False", "AsExpected", ""),
			condition("Available", "False", "ReplicasNotReady", "1 of 3 replicas are ready."),
			condition("Progressing", "True", "StartingReplicas", "Waiting for replicas to become ready.")),
		Deployment: deploymentOf("memcached-sample", "sample", new(int32(3)), 1),
		Pods: []*corev1.Pod{
			podOf("memcached-sample-6b5c9d7f8-2vk4q", "sample", ready, on("node-0")),
			podOf("memcached-sample-6b5c9d7f8-9xw7d", "sample", waiting("ContainerCreating"), on("node-1")),
			podOf("memcached-sample-6b5c9d7f8-tz5rm", "sample", pending),
		},
	}
	available = demo.State{
		Memcached: sample(3, 1,
			condition("Available", "True", "AllReplicasReady", "3 of 3 replicas are ready."),
			condition("Progressing", "False", "Converged", ""),
			condition("Degraded", "False", "AsExpected", "")),
		Deployment: deploymentOf("memcached-sample", "sample", new(int32(3)), 3),
		Pods: []*corev1.Pod{
			podOf("memcached-sample-6b5c9d7f8-2vk4q", "sample", ready, on("node-0")),
			podOf("memcached-sample-6b5c9d7f8-9xw7d", "sample", ready, on("node-1")),
			podOf("memcached-sample-6b5c9d7f8-tz5rm", "sample", ready, on("node-0")),
		},
	}
	broken = demo.State{
		Memcached: sample(1, 2,
			condition("Available", "False", "ReplicasNotReady", "0 of 1 replicas are ready."),
			condition("Progressing", "Unknown", "RollingOut", ""),
			condition("Degraded", "True", "ImagePullFailed", "the image no-such-image:1 can't be pulled")),
		Deployment: deploymentOf("memcached-sample", "sample", new(int32(1)), 0),
		Pods: []*corev1.Pod{
			podOf("memcached-sample-85d4f6b9c-jl8ns", "sample", waiting("ImagePullBackOff"), on("node-1")),
		},
	}
)

// sample is the demo's Memcached. Its conditions have observed its generation.
func sample(size int32, generation int64, conditions ...metav1.Condition) *cachev1alpha1.Memcached {
	for i := range conditions {
		conditions[i].ObservedGeneration = generation
	}
	return &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "memcached-sample", UID: "sample", Generation: generation},
		Spec:       cachev1alpha1.MemcachedSpec{Size: &size},
		Status:     cachev1alpha1.MemcachedStatus{Conditions: conditions},
	}
}

func condition(conditionType string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message}
}

func deploymentOf(name string, owner types.UID, wanted *int32, ready int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}}},
		Spec:       appsv1.DeploymentSpec{Replicas: wanted},
		Status:     appsv1.DeploymentStatus{ReadyReplicas: ready},
	}
}

// podOf makes a pod that runs, with changes.
func podOf(name string, memcached types.UID, changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{cachev1alpha1.LabelMemcachedUID: string(memcached)}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func on(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }

func pending(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }

func ready(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue},
	}
}

func waiting(reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		pending(p)
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: reason},
		}}}
	}
}

func TestPicture(t *testing.T) {
	for _, test := range []struct {
		golden string
		state  demo.State
		style  demo.Style
	}{
		{"nothing.txt", demo.State{}, demo.Style{}},
		{"created.txt", created, demo.Style{}},
		{"rolling-out.txt", rollingOut, demo.Style{}},
		{"available.txt", available, demo.Style{}},
		{"broken.txt", broken, demo.Style{}},
		{"available-color.txt", available, demo.Style{Color: true}},
		{"rolling-out-color.txt", rollingOut, demo.Style{Color: true}},
		{"broken-color.txt", broken, demo.Style{Color: true}},
		{"rolling-out-50-columns.txt", rollingOut, demo.Style{Width: 50}},
		{"rolling-out-30-columns.txt", rollingOut, demo.Style{Width: 30}},
	} {
		t.Run(test.golden, func(t *testing.T) {
			compareGolden(t, test.golden, test.state.Picture(test.style))
		})
	}
}

func TestPictureFitsAnyWidth(t *testing.T) {
	for _, state := range []demo.State{{}, created, rollingOut, available, broken} {
		for width := 1; width <= 120; width++ {
			for line := range strings.Lines(state.Picture(demo.Style{Width: width})) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width && width >= 30 {
					t.Errorf("at width %d a line has %d characters: %q", width, n, line)
				}
			}
		}
	}
}

// A script that looks for the verdict must find it whatever the terminal.
func TestVerdictIsPlainTextEvenInColor(t *testing.T) {
	picture := available.Picture(demo.Style{Color: true, Width: 80})
	for _, want := range []string{"3/3 ready", "Available=True", "Progressing=False", "Degraded=False"} {
		if !strings.Contains(picture, want) {
			t.Errorf("the picture has no %q in one piece:\n%q", want, picture)
		}
	}
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with: go test ./e2e/demo -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("differs from %s (-golden +drawn); if that is meant: go test ./e2e/demo -update\n%s", path, diff)
	}
}
