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
)

func checkPort(ctx context.Context, s *scope) {
	object := s.create(ctx, "cache", 1)
	s.available(ctx, object, 1)
	s.listens(ctx, defaultPort)
	s.change(ctx, object, func() { s.mapping.setPort(object, otherPort) })
	s.listens(ctx, otherPort)
}

// listens waits until the Deployment's pods say that they listen on the port, and tell memcached so: it takes no other port
// than its own unless told.
func (s *scope) listens(ctx context.Context, port int32) {
	s.expect().Object(ctx, s.deployment("cache"), gcustom.MakeMatcher(func(d *appsv1.Deployment) (bool, error) {
		container := d.Spec.Template.Spec.Containers[0]
		told := port == defaultPort || slices.ContainsFunc(slices.Concat(container.Command, container.Args, values(container.Env)), func(word string) bool {
			return strings.Contains(word, strconv.Itoa(int(port)))
		})
		declared := slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.ContainerPort == port })
		if !told || !declared {
			return false, fmt.Errorf("expected memcached to be told of port %d, and the container to declare it; last seen: command %q, args %q, ports %v",
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

func checkSelectors(ctx context.Context, s *scope) {
	names := []string{"one", "two"}
	for _, name := range names {
		s.create(ctx, name, 1)
	}
	selectors := map[string]labels.Selector{}
	for _, name := range names {
		deployment := s.deployment(name)
		s.expect().Object(ctx, deployment, gomega.Not(gomega.BeNil()))
		selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
		s.must(err)
		selectors[name] = selector
		for other, theirs := range selectors {
			if other != name && (theirs.Matches(labels.Set(deployment.Spec.Template.Labels)) || selector.String() == theirs.String()) {
				s.Fatalf("expected different selectors; last seen: %s of both %s and %s", theirs, other, name)
			}
		}
	}
}
