package conformance

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gcustom"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
)

// Port checks that memcached listens on the port, even after it changes.
func (c Checks) Port(ctx context.Context, s *framework.Scope) {
	object := c.created(ctx, s, "port", smallest)
	c.waitForPort(ctx, s, object, defaultPort)
	port := s.Port()
	change(ctx, s, object, func() { c.SetPort(object, port) })
	c.waitForPort(ctx, s, object, port)
}

// waitForPort waits until the Deployment's pods say that they listen on the port, and tell memcached so: it takes no other port
// than its own unless told.
func (c Checks) waitForPort(ctx context.Context, s *framework.Scope, object client.Object, port int32) {
	framework.WaitForObject(ctx, s, c.deployment(object), gcustom.MakeMatcher(func(d *appsv1.Deployment) (bool, error) {
		container := d.Spec.Template.Spec.Containers[0]
		told := port == defaultPort || slices.ContainsFunc(slices.Concat(container.Command, container.Args, values(container.Env)), func(word string) bool {
			return strings.Contains(word, strconv.Itoa(int(port)))
		})
		declared := slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.ContainerPort == port })
		if !told || !declared {
			return false, fmt.Errorf("expected port %d in memcached's arguments and in the container's ports; last seen: command %q, args %q, ports %v",
				port, container.Command, container.Args, container.Ports)
		}
		return true, nil
	}))
}

func values(env []corev1.EnvVar) []string {
	words := make([]string, 0, len(env))
	for _, variable := range env {
		words = append(words, variable.Value)
	}
	return words
}

// Selectors checks that two objects in a namespace share no pods.
func (c Checks) Selectors(ctx context.Context, s *framework.Scope) {
	selectors := map[string]labels.Selector{}
	for _, name := range []string{"one", "two"} {
		deployment := c.deployment(c.create(ctx, s, name, smallest))
		framework.WaitForObject(ctx, s, deployment, gomega.Not(gomega.BeNil()))
		selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
		must(s, err)
		for other, theirs := range selectors {
			if theirs.Matches(labels.Set(deployment.Spec.Template.Labels)) || selector.String() == theirs.String() {
				s.Fatalf("expected different selectors; last seen: %s of both %s and %s", theirs, other, name)
			}
		}
		selectors[name] = selector
	}
}
