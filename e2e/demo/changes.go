package demo

import (
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// Change is one thing that became different, in words.
type Change struct {
	// Subject is the kind of thing: Memcached, Deployment, Pod or Condition.
	Subject string
	// Text says which one, and what it is now.
	Text string
	tone tone
}

// Line is the change as a line of a log: when, what, how.
func (c Change) Line(elapsed time.Duration, style Style) string {
	return fmt.Sprintf("%s  %s  %s",
		style.paint(quiet, Elapsed(elapsed)), pad(c.Subject, len("Deployment")), style.paint(c.tone, c.Text))
}

// Elapsed is a duration as the first column of a log: seconds with one
// decimal, right-aligned, so that lines below each other compare at a glance.
func Elapsed(d time.Duration) string {
	return fmt.Sprintf("%6.1f s", d.Seconds())
}

// Changes returns what is different in after, in the order of cause and effect:
// the Memcached, its Deployment, the pods, the conditions.
func Changes(before, after State) []Change {
	var changes []Change
	add := func(t tone, subject, format string, args ...any) {
		changes = append(changes, Change{Subject: subject, Text: fmt.Sprintf(format, args...), tone: t})
	}

	switch was, is := before.Memcached, after.Memcached; {
	case is == nil && was != nil:
		add(wait, "Memcached", "%s is gone", was.Name)
	case is != nil && was == nil:
		add(plain, "Memcached", "%s created, size %d", is.Name, size(is))
	case is != nil && size(was) != size(is):
		add(plain, "Memcached", "%s size %d, was %d", is.Name, size(is), size(was))
	}

	switch was, is := before.Deployment, after.Deployment; {
	case is == nil && was != nil:
		add(wait, "Deployment", "%s is gone", was.Name)
	case is != nil && was == nil:
		add(readyTone(is), "Deployment", "%s created, %s", is.Name, readyText(is))
	case is != nil && readyText(was) != readyText(is):
		add(readyTone(is), "Deployment", "%s %s", is.Name, readyText(is))
	}

	known := map[string]string{}
	for _, pod := range before.Pods {
		known[pod.Name] = podText(pod)
	}
	for _, pod := range after.Pods {
		if known[pod.Name] != podText(pod) {
			add(podTone(pod), "Pod", "%s %s", pod.Name, podText(pod))
		}
		delete(known, pod.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		add(wait, "Pod", "%s is gone", name)
	}

	// A new generation does not count: the reader sees status, reason, message.
	shown := map[string]bool{}
	for _, c := range before.conditions() {
		shown[conditionText(c)] = true
	}
	for _, c := range after.conditions() {
		if text := conditionText(c); !shown[text] {
			add(conditionTone(c), "Condition", "%s", text)
		}
	}
	return changes
}

func readyText(d *appsv1.Deployment) string {
	return fmt.Sprintf("%d/%d ready", d.Status.ReadyReplicas, replicas(d))
}

func readyTone(d *appsv1.Deployment) tone {
	if d.Status.ReadyReplicas == replicas(d) {
		return good
	}
	return wait
}

func podText(p *corev1.Pod) string {
	text := word(p)
	if isReady(p) {
		text = "Ready"
	}
	if p.Spec.NodeName != "" {
		text += " on " + p.Spec.NodeName
	}
	return text
}

func podTone(p *corev1.Pod) tone {
	switch {
	case isReady(p):
		return good
	case slices.Contains([]string{"Pending", "ContainerCreating", "Running", "Terminating"}, word(p)):
		return wait
	default:
		return bad
	}
}

func conditionText(c metav1.Condition) string {
	text := verdictOf(c)
	if c.Reason != "" {
		text += "  " + c.Reason
	}
	if c.Message != "" {
		text += ": " + c.Message
	}
	return text
}

// conditionTone knows which way each type is good: Available is, when True;
// Progressing and Degraded are, when False.
func conditionTone(c metav1.Condition) tone {
	switch {
	case c.Status == metav1.ConditionUnknown:
		return wait
	case (c.Type == cachev1alpha1.ConditionAvailable) == (c.Status == metav1.ConditionTrue):
		return good
	case c.Type == cachev1alpha1.ConditionDegraded:
		return bad
	default:
		return wait
	}
}
