package memcached

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// defaultPort is where memcached listens unless its Memcached names a port.
const defaultPort = 11211

// needsKubelet is the setup of a feature that needs pods which really run.
func needsKubelet(_ context.Context, s *framework.Scope) {
	s.Helper()
	s.NeedsKubelet("there is no memcached in them")
}

// TestServing shows that what the status calls Available is memcached, at the port that the Memcached asks for.
func TestServing(t *testing.T) {
	type caches struct {
		usual, other *cachev1alpha1.Memcached
		port         int32 // of the other, at first
	}
	serves := func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, port int32) {
		s.Helper()
		settled(ctx, s, mc)
		for _, pod := range podsOf(ctx, s, mc) {
			remembers(ctx, s, &pod, port)
		}
	}
	feature := memcached.Feature("serving").
		WithLabel("contract", "3").
		WithLabel("needs", "kubelet").
		Setup(needsKubelet)
	framework.Given(feature, func(ctx context.Context, s *framework.Scope) caches {
		port := s.Port()
		return caches{
			usual: create(ctx, s, s.NewName("usual"), s.Size(1, 3)),
			other: create(ctx, s, s.NewName("other"), s.Size(1, 3), func(mc *cachev1alpha1.Memcached) { mc.Spec.ContainerPort = &port }),
			port:  port,
		}
	}).
		Assess("set and get, at the default port", func(ctx context.Context, s *framework.Scope, c caches) {
			serves(ctx, s, c.usual, defaultPort)
		}).
		Assess("and at another", func(ctx context.Context, s *framework.Scope, c caches) {
			serves(ctx, s, c.other, c.port)
		}).
		Assess("at the port that it was changed to, and no longer at the one before", func(ctx context.Context, s *framework.Scope, c caches) {
			port := s.Port()
			change(ctx, s, c.other, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = &port })
			serves(ctx, s, c.other, port)
			for _, pod := range podsOf(ctx, s, c.other) {
				if _, err := dial(ctx, s, &pod, c.port).get("key"); err == nil {
					s.Errorf("the pod %s still answers at the port %d", pod.Name, c.port)
				}
			}
		}).
		Assess("and its pod's log shows the requests, when it is verbose", func(ctx context.Context, s *framework.Scope, c caches) {
			pod := podsOf(ctx, s, c.usual)[0]
			if err := dial(ctx, s, &pod, defaultPort).say("verbosity 2\r\n", "OK\r\n"); err != nil {
				s.Fatal(err)
			}
			remembers(ctx, s, &pod, defaultPort)
			framework.WaitForLog(ctx, s, &pod, "get key")
		}).
		Test(t)
}

// TestKilled has memcached end in a pod, so that the kubelet starts it again: the pod stays.
func TestKilled(t *testing.T) {
	feature := memcached.Feature("a memcached that ends").
		WithLabel("contract", "1").
		WithLabel("needs", "kubelet").
		Setup(needsKubelet)
	framework.Given(feature, created(1, 2)).
		Setup(settled).
		Assess("is started again after it was killed, in its pod", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			pod := podsOf(ctx, s, mc)[0]
			s.Signal(ctx, &pod, "memcached", "KILL")
			restarted(ctx, s, &pod, "Error")
			settled(ctx, s, mc)
			remembers(ctx, s, &pod, defaultPort)
		}).
		Assess("and the status never said Available while it was away", truthful).
		Test(t)
}

// TestOutOfMemory provokes it: the memory limit of a pod is lowered while it runs, as a vertical autoscaler does, and then the
// cache is filled with more than that.
func TestOutOfMemory(t *testing.T) {
	memcached.Feature("out of memory").
		WithLabel("contract", "1").
		WithLabel("needs", "kubelet").
		Setup(needsKubelet).
		Assess("is survived", func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			settled(ctx, s, mc)
			pod := podsOf(ctx, s, mc)[0]
			little := resource.MustParse("16Mi")
			resized := pod.DeepCopy()
			resized.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = little
			resized.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory] = little
			if err := s.Client.SubResource("resize").Update(ctx, resized); err != nil {
				s.Fatal(err)
			}
			framework.WaitForObject(ctx, s, &pod, HaveField("Status.ContainerStatuses", ConsistOf(
				HaveField("Resources.Limits", HaveKeyWithValue(corev1.ResourceMemory, HaveField("Value()", little.Value()))))))
			cache := dial(ctx, s, &pod, defaultPort)
			value := strings.Repeat("x", 1_000_000)
			for i := range 48 {
				if err := cache.set(fmt.Sprintf("key-%d", i), value); err != nil {
					break // it has ended
				}
			}
			// On a busy machine containerd may hear that the process has ended before it hears why.
			restarted(ctx, s, &pod, "OOMKilled", "Error")
			settled(ctx, s, mc)
			remembers(ctx, s, &pod, defaultPort)
			truthful(ctx, s, mc)
		}).
		Test(t)
}

// podsOf returns the pods of a Memcached when there are as many as its size says, besides those that are being deleted. The status of its
// Deployment may not know yet that one is gone.
func podsOf(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) (pods []corev1.Pod) {
	s.Helper()
	staying := func(objects []client.Object) []corev1.Pod {
		pods = nil
		for _, object := range objects {
			if pod := object.(*corev1.Pod); pod.DeletionTimestamp == nil {
				pods = append(pods, *pod)
			}
		}
		return pods
	}
	framework.WaitForObjects(ctx, s, framework.ObjectsInput{
		List:    &corev1.PodList{},
		Options: []client.ListOption{client.InNamespace(s.Namespace), client.MatchingLabels{cachev1alpha1.LabelMemcachedUID: string(mc.UID)}},
		Matcher: WithTransform(staying, HaveLen(int(*mc.Spec.Size))),
	})
	return pods
}

// restarted waits until the pod's container has been killed and started again, and is ready. The kubelet gives one of the reasons.
func restarted(ctx context.Context, s *framework.Scope, pod *corev1.Pod, reasons ...any) {
	s.Helper()
	framework.WaitForObject(ctx, s, pod, HaveField("Status.ContainerStatuses", ConsistOf(And(
		HaveField("RestartCount", BeEquivalentTo(1)),
		HaveField("LastTerminationState.Terminated", And(
			HaveField("ExitCode", BeEquivalentTo(128+9)),
			HaveField("Reason", BeElementOf(reasons...)),
		)),
		HaveField("Ready", true),
	))))
}

// remembers sets a value in the memcached of a pod, and gets it, by two connections.
func remembers(ctx context.Context, s *framework.Scope, pod *corev1.Pod, port int32) {
	s.Helper()
	if err := dial(ctx, s, pod, port).set("key", "of "+pod.Name); err != nil {
		s.Fatalf("setting a value in the pod %s, at the port %d: %v", pod.Name, port, err)
	}
	value, err := dial(ctx, s, pod, port).get("key")
	if err != nil || value != "of "+pod.Name {
		s.Fatalf("getting the value in the pod %s, at the port %d: %q, %v", pod.Name, port, value, err)
	}
}

// conversation is in memcached's text protocol.
type conversation struct {
	net.Conn
	answers *bufio.Reader
}

func dial(ctx context.Context, s *framework.Scope, pod *corev1.Pod, port int32) conversation {
	s.Helper()
	connection := s.Dial(ctx, pod, port)
	if err := connection.SetDeadline(time.Now().Add(framework.Converge)); err != nil {
		s.Fatal(err)
	}
	return conversation{connection, bufio.NewReader(connection)}
}

func (c conversation) set(key, value string) error {
	return c.say(fmt.Sprintf("set %s 0 0 %d\r\n%s\r\n", key, len(value), value), "STORED\r\n")
}

func (c conversation) get(key string) (string, error) {
	if _, err := fmt.Fprintf(c, "get %s\r\n", key); err != nil {
		return "", err
	}
	var length int
	line, err := c.answers.ReadString('\n')
	if err != nil {
		return "", err
	}
	if _, err := fmt.Sscanf(line, "VALUE "+key+" 0 %d\r\n", &length); err != nil {
		return "", fmt.Errorf("memcached answers %q", line)
	}
	value := make([]byte, length)
	if _, err := io.ReadFull(c.answers, value); err != nil {
		return "", err
	}
	return string(value), c.hear("\r\nEND\r\n")
}

// say sends a command and reads its answer, which must be the one that is expected.
func (c conversation) say(command, expected string) error {
	if _, err := io.WriteString(c, command); err != nil {
		return err
	}
	return c.hear(expected)
}

// hear reads an answer, which must be the one that is expected.
func (c conversation) hear(expected string) error {
	answer := make([]byte, len(expected))
	if n, err := io.ReadFull(c.answers, answer); err != nil {
		return fmt.Errorf("memcached answers %q, expected %q: %w", answer[:n], expected, err)
	}
	if string(answer) != expected {
		return fmt.Errorf("memcached answers %q, expected %q", answer, expected)
	}
	return nil
}
