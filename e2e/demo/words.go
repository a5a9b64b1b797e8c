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
		words[0] = s.Memcached.Name + ": " + readyText(*s.Deployment)
	}
	for _, conditionType := range conditionTypes {
		if c, ok := s.Memcached.Condition(conditionType); ok {
			words = append(words, c.Type+"="+c.Status)
		}
	}
	return strings.Join(words, ", ")
}

// Next says what to type now, each line a command that works as it is. inMake
// is what every make command needs to be about this cluster, such as " NAME=x".
func Next(memcached Memcached, inMake string) string {
	var out strings.Builder
	for _, next := range []struct{ command, what string }{
		{fmt.Sprintf(`eval "$(make -s env%s)"`, inMake), "kubectl for this cluster, in this shell"},
		{"kubectl get memcached,deployments,pods", "look"},
		{fmt.Sprintf("kubectl scale memcached %s --replicas=5", memcached.Name), "scale it"},
		{fmt.Sprintf("kubectl delete deployment %s", memcached.Name), "break it: it comes back"},
		{"kubectl annotate pods --all testbed.example.com/simulate=crashloop", "break it: it becomes Degraded"},
		{"kubectl annotate pods --all testbed.example.com/simulate-", "mend it"},
		{fmt.Sprintf("kubectl describe memcached %s", memcached.Name), "see why"},
		{fmt.Sprintf("make logs%s C=operator", inMake), "what the operator says"},
		{fmt.Sprintf("make down%s", inMake), "stop it"},
	} {
		fmt.Fprintf(&out, "  %s  # %s\n", pad(next.command, len("kubectl annotate pods --all testbed.example.com/simulate=crashloop")), next.what)
	}
	return "What to type next:\n" + out.String()
}
