package demo

import (
	"fmt"
	"time"

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

// Changes names what is different in after, in the order in which a person
// would tell it: the wish, what was made of it, the pods, the verdict.
func Changes(before, after State) []Change {
	var changes []Change
	add := func(t tone, subject, format string, args ...any) {
		changes = append(changes, Change{Subject: subject, Text: fmt.Sprintf(format, args...), tone: t})
	}

	switch was, is := before.Memcached, after.Memcached; {
	case is == nil && was != nil:
		add(wait, "Memcached", "%s is gone", was.Name)
	case is != nil && was == nil:
		add(plain, "Memcached", "%s created, size %d", is.Name, is.Size)
	case is != nil && was.Size != is.Size:
		add(plain, "Memcached", "%s size %d, was %d", is.Name, is.Size, was.Size)
	}

	switch was, is := before.Deployment, after.Deployment; {
	case is == nil && was != nil:
		add(wait, "Deployment", "%s is gone", was.Name)
	case is != nil && was == nil:
		add(readyTone(*is), "Deployment", "%s created, %s", is.Name, readyText(*is))
	case is != nil && *was != *is:
		add(readyTone(*is), "Deployment", "%s %s", is.Name, readyText(*is))
	}

	known := map[string]Pod{}
	for _, pod := range before.Pods {
		known[pod.Name] = pod
	}
	for _, pod := range after.Pods {
		if was, ok := known[pod.Name]; !ok || podText(was) != podText(pod) {
			add(podTone(pod), "Pod", "%s %s", pod.Name, podText(pod))
		}
		delete(known, pod.Name)
	}
	for _, pod := range before.Pods {
		if _, gone := known[pod.Name]; gone {
			add(wait, "Pod", "%s is gone", pod.Name)
		}
	}

	if after.Memcached == nil {
		return changes
	}
	for _, conditionType := range conditionTypes {
		is, ok := after.Memcached.Condition(conditionType)
		if !ok {
			continue
		}
		var was Condition
		if before.Memcached != nil {
			was, _ = before.Memcached.Condition(conditionType)
		}
		// A generation alone is no news: the reader sees status, reason, message.
		was.ObservedGeneration = is.ObservedGeneration
		if was != is {
			add(conditionTone(is), "Condition", "%s", conditionText(is))
		}
	}
	return changes
}

func readyText(d Deployment) string {
	return fmt.Sprintf("%d/%d ready", d.Ready, d.Wanted)
}

func readyTone(d Deployment) tone {
	if d.Ready == d.Wanted {
		return good
	}
	return wait
}

func podText(p Pod) string {
	text := p.Word
	if p.Ready {
		text = "Ready"
	}
	if p.Node != "" {
		text += " on " + p.Node
	}
	return text
}

func podTone(p Pod) tone {
	switch {
	case p.Ready:
		return good
	case p.Word == "Pending" || p.Word == "ContainerCreating" || p.Word == "Running" || p.Word == "Terminating":
		return wait
	default:
		return bad
	}
}

func conditionText(c Condition) string {
	text := c.Type + "=" + c.Status
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
func conditionTone(c Condition) tone {
	switch {
	case c.Status != "True" && c.Status != "False":
		return wait
	case (c.Type == cachev1alpha1.ConditionAvailable) == (c.Status == "True"):
		return good
	case c.Type == cachev1alpha1.ConditionDegraded:
		return bad
	default:
		return wait
	}
}
