package demo_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/example/operator-testbed/e2e/demo"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// The life of a Memcached of size 3, as the demo sees it.
var (
	created = demo.State{
		Memcached: &demo.Memcached{Namespace: "default", Name: "memcached-sample", Size: 3, Generation: 1},
	}
	rollingOut = demo.State{
		Memcached: &demo.Memcached{
			Namespace: "default", Name: "memcached-sample", Size: 3, Generation: 1,
			Conditions: []demo.Condition{
				{Type: "Degraded", Status: "False", Reason: "AsExpected", ObservedGeneration: 1},
				{Type: "Available", Status: "False", Reason: "ReplicasNotReady", Message: "1 of 3 replicas are ready.", ObservedGeneration: 1},
				{Type: "Progressing", Status: "True", Reason: "StartingReplicas", Message: "Waiting for replicas to become ready.", ObservedGeneration: 1},
			},
		},
		Deployment: &demo.Deployment{Name: "memcached-sample", Ready: 1, Wanted: 3},
		Pods: []demo.Pod{
			{Name: "memcached-sample-6b5c9d7f8-2vk4q", Node: "node-0", Ready: true, Word: "Running"},
			{Name: "memcached-sample-6b5c9d7f8-9xw7d", Node: "node-1", Word: "ContainerCreating"},
			{Name: "memcached-sample-6b5c9d7f8-tz5rm", Word: "Pending"},
		},
	}
	available = demo.State{
		Memcached: &demo.Memcached{
			Namespace: "default", Name: "memcached-sample", Size: 3, Generation: 1,
			Conditions: []demo.Condition{
				{Type: "Available", Status: "True", Reason: "AllReplicasReady", Message: "3 of 3 replicas are ready.", ObservedGeneration: 1},
				{Type: "Progressing", Status: "False", Reason: "Converged", ObservedGeneration: 1},
				{Type: "Degraded", Status: "False", Reason: "AsExpected", ObservedGeneration: 1},
			},
		},
		Deployment: &demo.Deployment{Name: "memcached-sample", Ready: 3, Wanted: 3},
		Pods: []demo.Pod{
			{Name: "memcached-sample-6b5c9d7f8-2vk4q", Node: "node-0", Ready: true, Word: "Running"},
			{Name: "memcached-sample-6b5c9d7f8-9xw7d", Node: "node-1", Ready: true, Word: "Running"},
			{Name: "memcached-sample-6b5c9d7f8-tz5rm", Node: "node-0", Ready: true, Word: "Running"},
		},
	}
	broken = demo.State{
		Memcached: &demo.Memcached{
			Namespace: "default", Name: "memcached-sample", Size: 1, Generation: 2,
			Conditions: []demo.Condition{
				{Type: "Available", Status: "False", Reason: "ReplicasNotReady", Message: "0 of 1 replicas are ready.", ObservedGeneration: 2},
				{Type: "Progressing", Status: "Unknown", Reason: "RollingOut", ObservedGeneration: 2},
				{Type: "Degraded", Status: "True", Reason: "ImagePullFailed", Message: "the image no-such-image:1 can't be pulled", ObservedGeneration: 2},
			},
		},
		Deployment: &demo.Deployment{Name: "memcached-sample", Ready: 0, Wanted: 1},
		Pods: []demo.Pod{
			{Name: "memcached-sample-85d4f6b9c-jl8ns", Node: "node-1", Word: "ImagePullBackOff"},
		},
	}
)

func TestPicture(t *testing.T) {
	for _, test := range []struct {
		golden string
		state  demo.State
		style  demo.Style
	}{
		{"nothing.txt", demo.State{}, demo.Style{Unicode: true}},
		{"created.txt", created, demo.Style{Unicode: true}},
		{"rolling-out.txt", rollingOut, demo.Style{Unicode: true}},
		{"available.txt", available, demo.Style{Unicode: true}},
		{"broken.txt", broken, demo.Style{Unicode: true}},
		{"available-ascii.txt", available, demo.Style{}},
		{"available-color.txt", available, demo.Style{Unicode: true, Color: true}},
		{"rolling-out-color.txt", rollingOut, demo.Style{Unicode: true, Color: true}},
		{"broken-color.txt", broken, demo.Style{Unicode: true, Color: true}},
		{"rolling-out-50-columns.txt", rollingOut, demo.Style{Unicode: true, Width: 50}},
		{"rolling-out-ascii-30-columns.txt", rollingOut, demo.Style{Width: 30}},
	} {
		t.Run(test.golden, func(t *testing.T) {
			compareGolden(t, test.golden, test.state.Picture(test.style))
		})
	}
}

func TestPictureFitsAnyWidth(t *testing.T) {
	for _, state := range []demo.State{{}, created, rollingOut, available, broken} {
		for width := 1; width <= 120; width++ {
			for line := range strings.Lines(state.Picture(demo.Style{Unicode: true, Width: width})) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width && width >= 30 {
					t.Errorf("at width %d a line has %d characters: %q", width, n, line)
				}
			}
		}
	}
}

// A script that looks for the verdict must find it whatever the terminal.
func TestVerdictIsPlainTextEvenInColor(t *testing.T) {
	picture := available.Picture(demo.Style{Color: true, Unicode: true, Width: 80})
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
