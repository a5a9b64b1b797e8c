package kind

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// ofPod finds the processes of a pod by their control group, which the kubelet names after the pod's UID, and signals those with
// a program's name, except for the one that holds the pod's namespaces.
const ofPod = `found=
for process in $(pgrep -x "$2"); do
	grep -q "$1" "/proc/$process/cgroup" && [ "$(cat "/proc/$process/comm")" != pause ] && kill -s "$3" "$process" && found=yes
done
[ "$found" ]`

// Signal sends a signal, such as "KILL", to the processes in a pod that are called so, or to all of its containers' if program is empty.
func (p *Provider) Signal(ctx context.Context, pod *corev1.Pod, program, signal string) error {
	uid := strings.ReplaceAll(string(pod.UID), "-", "[-_]") // names of systemd's have no hyphens
	program = cmp.Or(program, ".*")
	if _, err := docker(ctx, "exec", pod.Spec.NodeName, "bash", "-c", ofPod, "signal", uid, program, signal); err != nil {
		return fmt.Errorf("send %s to %s in the pod %s on the node %s: %w", signal, program, pod.Name, pod.Spec.NodeName, err)
	}
	return nil
}
