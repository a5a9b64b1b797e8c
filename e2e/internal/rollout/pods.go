package rollout

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const (
	// reportTimeout bounds the reading of logs and events. A kubelet that does not answer should not hold back the rest.
	reportTimeout = 10 * time.Second
	// logLines, logBytes and mostEvents are how much of a log and of the events is shown.
	logLines, logBytes = 10, 16 << 10
	mostEvents         = 5
)

// stuck are the reasons of a container that waits, and that does not start without a change by a person. ErrImagePull and
// RunContainerError are not among them: the kubelet tries again first. Neither is a pod that can't be scheduled, because nodes come and
// go.
var stuck = []string{
	"CrashLoopBackOff", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError",
}

// isStuck reports whether a container can't start. A container runtime that was too slow to create it is asked again, so that is not a
// reason to give up.
func isStuck(status corev1.ContainerStatus) bool {
	waiting := status.State.Waiting
	return waiting != nil && slices.Contains(stuck, waiting.Reason) &&
		!strings.Contains(waiting.Message, "context deadline exceeded") && !strings.Contains(waiting.Message, "is reserved for")
}

// statuses returns the statuses of all containers, in the order in which they start.
func statuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

// container names a container of a pod.
type container struct {
	pod  types.UID
	name string
}

// earlier has the containers that were found stuck at first, with the number of their restarts. A later attempt to start them may
// succeed.
type earlier map[container]int32

// fails reports whether a container of the pod can't start. initially is whether this is how the pod was found at first.
func (e earlier) fails(pod *corev1.Pod, initially bool) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	failing := false
	for _, status := range statuses(pod) {
		key := container{pod.UID, status.Name}
		restarts, known := e[key]
		switch {
		case !isStuck(status):
			delete(e, key)
		case initially && strings.HasSuffix(status.State.Waiting.Reason, "BackOff"):
			e[key] = status.RestartCount
		case !known || status.RestartCount > restarts:
			failing = true
		}
	}
	return failing
}

// source reads what a pod does not say itself.
type source interface {
	// log returns the last lines of a container's log.
	log(pod *corev1.Pod, container string) ([]string, error)
	// events returns the last events about the pod.
	events(pod *corev1.Pod) ([]string, error)
}

// describe says what the pods report that are not ready. Pods with the same trouble are described once.
func describe(pods []corev1.Pod, from source) string {
	var text strings.Builder
	alike := map[string][]string{} // names of pods
	var troubles []string
	first := map[string]*corev1.Pod{}
	for i := range pods {
		trouble := troubleOf(&pods[i])
		if trouble == "" {
			continue
		}
		if first[trouble] == nil {
			first[trouble] = &pods[i]
			troubles = append(troubles, trouble)
		}
		alike[trouble] = append(alike[trouble], pods[i].Name)
	}
	for _, trouble := range troubles {
		pod := first[trouble]
		fmt.Fprintf(&text, "the pod %s: %s\n", strings.Join(alike[trouble], ", and the pod "), strings.ReplaceAll(trouble, ownName, pod.Name))
		for _, status := range statuses(pod) {
			if status.Ready || !hasRun(status) {
				continue
			}
			lines, err := from.log(pod, status.Name)
			section(&text, "the last lines of the log of "+status.Name, lines, err)
		}
		lines, err := from.events(pod)
		section(&text, "its events", lines, err)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

func section(text *strings.Builder, title string, lines []string, err error) {
	switch {
	case err != nil:
		fmt.Fprintf(text, "  %s can't be read: %v\n", title, err)
	case len(lines) > 0:
		fmt.Fprintf(text, "  %s:\n    %s\n", title, strings.Join(lines, "\n    "))
	}
}

// hasRun reports whether a container may have a log.
func hasRun(status corev1.ContainerStatus) bool {
	return status.RestartCount > 0 || status.State.Running != nil || status.State.Terminated != nil || status.LastTerminationState.Terminated != nil
}

// ownName stands for the name of the pod in what troubleOf returns, so that pods with the same trouble can be found.
const ownName = "\x00"

// troubleOf returns why a pod is not ready; empty if it is.
func troubleOf(pod *corev1.Pod) string {
	if pod.DeletionTimestamp != nil {
		return ""
	}
	var parts []string
	ready := false
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			parts = append(parts, fmt.Sprintf("%s: %s", c.Reason, c.Message))
		case c.Type == corev1.PodReady:
			ready = c.Status == corev1.ConditionTrue
		}
	}
	if ready {
		return ""
	}
	for _, status := range statuses(pod) {
		if trouble := containerTrouble(status); trouble != "" {
			parts = append(parts, fmt.Sprintf("the container %s %s", status.Name, trouble))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "it is not ready")
	}
	trouble := strings.Join(parts, "; ")
	return strings.ReplaceAll(strings.ReplaceAll(trouble, "("+string(pod.UID)+")", ""), pod.Name, ownName)
}

func containerTrouble(status corev1.ContainerStatus) string {
	var trouble string
	last := status.LastTerminationState.Terminated
	switch state := status.State; {
	case state.Waiting != nil:
		trouble = "waits: " + strings.TrimSuffix(fmt.Sprintf("%s (%s)", state.Waiting.Reason, state.Waiting.Message), " ()")
	case state.Running != nil && !status.Ready:
		trouble = "runs and is not ready"
	case state.Terminated != nil && state.Terminated.ExitCode != 0:
		last = state.Terminated
		trouble = "has ended"
	default:
		return ""
	}
	if last != nil {
		trouble += fmt.Sprintf(", exit code %d (%s)", last.ExitCode, last.Reason)
	}
	return trouble
}

// evidence reads from the API server.
type evidence struct {
	ctx     context.Context
	clients kubernetes.Interface
}

func (e evidence) log(pod *corev1.Pod, name string) ([]string, error) {
	options := &corev1.PodLogOptions{Container: name, TailLines: new(int64(logLines)), LimitBytes: new(int64(logBytes))}
	content, err := e.clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).DoRaw(e.ctx)
	if err != nil {
		return nil, err
	}
	var lines []string
	for scanner := bufio.NewScanner(bytes.NewReader(content)); scanner.Scan(); {
		lines = append(lines, scanner.Text())
	}
	return lines, nil
}

func (e evidence) events(pod *corev1.Pod) ([]string, error) {
	selector := fields.OneTermEqualSelector("involvedObject.uid", string(pod.UID)).String()
	list, err := e.clients.CoreV1().Events(pod.Namespace).List(e.ctx, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	var lines []string
	for _, event := range list.Items {
		line := fmt.Sprintf("%s %s: %s", event.Type, event.Reason, event.Message)
		if event.Type == corev1.EventTypeWarning && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-mostEvents):], nil
}
