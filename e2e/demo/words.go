package demo

import (
	"fmt"
	"strings"
)

// Verdict is the state in one line, in plain text for people and scripts.
func (s State) Verdict() string {
	if s.Memcached == nil {
		return "there is no Memcached"
	}
	words := []string{s.Memcached.Name + ": no Deployment"}
	if s.Deployment != nil {
		words[0] = s.Memcached.Name + ": " + readyText(s.Deployment)
	}
	for _, c := range s.conditions() {
		words = append(words, verdictOf(c)+Outdated(s.Memcached, c))
	}
	return strings.Join(words, ", ")
}

// breakPods sets or removes what makes the simulated kubelets play a failure.
const breakPods = "kubectl annotate pods --all testbed.example.com/simulate"

// Next says what to type now to see more of the Memcached of that name. Every indented line is a command that works as it
// is, in any shell: a comment behind it would not. inMake is what every make
// command needs to be about this cluster, such as " NAME=x".
func Next(memcached, inMake string) string {
	var out strings.Builder
	for _, step := range []struct {
		what     string
		commands []string
	}{
		{"Look at it, from this shell:", []string{
			fmt.Sprintf(`eval "$(make -s env%s)"`, inMake),
			"kubectl get memcached,deployments,pods",
		}},
		{"Scale it:", []string{
			fmt.Sprintf("kubectl scale memcached %s --replicas=5", memcached),
		}},
		{"Break it, see why it is Degraded, and repair it:", []string{
			breakPods + "=crashloop",
			"kubectl describe memcached " + memcached,
			breakPods + "-",
		}},
		{"Delete what the operator made, and see it come back:", []string{
			"kubectl delete deployment " + memcached,
			"kubectl get deployments",
		}},
		{"Read the operator's log:", []string{
			fmt.Sprintf("make logs%s C=operator", inMake),
		}},
		{"Stop it:", []string{
			"make down" + inMake,
		}},
	} {
		fmt.Fprintf(&out, "%s\n  %s\n", step.what, strings.Join(step.commands, "\n  "))
	}
	return out.String()
}
