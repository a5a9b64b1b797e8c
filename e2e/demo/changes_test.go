package demo_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/operator-testbed/e2e/demo"
)

func TestChanges(t *testing.T) {
	for _, test := range []struct {
		name          string
		before, after demo.State
		want          []string
	}{
		{"nothing happened", available, available, nil},
		{"created", demo.State{}, created, []string{
			"Memcached: memcached-sample created, size 3",
		}},
		{"the operator answers", created, rollingOut, []string{
			"Deployment: memcached-sample created, 1/3 ready",
			"Pod: memcached-sample-6b5c9d7f8-2vk4q Ready on node-0",
			"Pod: memcached-sample-6b5c9d7f8-9xw7d ContainerCreating on node-1",
			"Pod: memcached-sample-6b5c9d7f8-tz5rm Pending",
			"Condition: Available=False  ReplicasNotReady: 1 of 3 replicas are ready.",
			"Condition: Progressing=True  StartingReplicas: Waiting for replicas to become ready.",
			"Condition: Degraded=False  AsExpected",
		}},
		{"it becomes Available", rollingOut, available, []string{
			"Deployment: memcached-sample 3/3 ready",
			"Pod: memcached-sample-6b5c9d7f8-9xw7d Ready on node-1",
			"Pod: memcached-sample-6b5c9d7f8-tz5rm Ready on node-0",
			"Condition: Available=True  AllReplicasReady: 3 of 3 replicas are ready.",
			"Condition: Progressing=False  Converged",
		}},
		{"another size and image: only the news", available, broken, []string{
			"Memcached: memcached-sample size 1, was 3",
			"Deployment: memcached-sample 0/1 ready",
			"Pod: memcached-sample-85d4f6b9c-jl8ns ImagePullBackOff on node-1",
			"Pod: memcached-sample-6b5c9d7f8-2vk4q is gone",
			"Pod: memcached-sample-6b5c9d7f8-9xw7d is gone",
			"Pod: memcached-sample-6b5c9d7f8-tz5rm is gone",
			"Condition: Available=False  ReplicasNotReady: 0 of 1 replicas are ready.",
			"Condition: Progressing=Unknown  RollingOut",
			"Condition: Degraded=True  ImagePullFailed: the image no-such-image:1 can't be pulled",
		}},
		{"deleted", broken, demo.State{}, []string{
			"Memcached: memcached-sample is gone",
			"Deployment: memcached-sample is gone",
			"Pod: memcached-sample-85d4f6b9c-jl8ns is gone",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, change := range demo.Changes(test.before, test.after) {
				got = append(got, change.Subject+": "+change.Text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Changes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChangeLine(t *testing.T) {
	change := demo.Changes(demo.State{}, created)[0]
	if got, want := change.Line(1340*time.Millisecond, demo.Style{}), "   1.3 s  Memcached   memcached-sample created, size 3"; got != want {
		t.Errorf("Line = %q, want %q", got, want)
	}
	if got, want := change.Line(83*time.Second, demo.Style{Color: true}), "\x1b[2m  83.0 s\x1b[0m  Memcached   memcached-sample created, size 3"; got != want {
		t.Errorf("Line in color = %q, want %q", got, want)
	}
}
