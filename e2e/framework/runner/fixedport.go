package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// addressFlag is what this repository calls the flag of the webhooks' address.
const addressFlag = "webhook-bind-address"

// listed matches the flag in what an executable prints for --help.
var listed = regexp.MustCompile(`(?m)(^|[\s,])--?` + addressFlag + `([\s=]|$)`)

// defaultPort is the port of a Service that a webhook configuration means if it names none.
const defaultPort = 443

// fixedPort returns the port at which the operator serves its webhooks, or "" if a flag says where.
func (o *Operator) fixedPort(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("%s --help did not end within %s", o.options.Binary, readyTimeout))
	defer cancel()
	command := exec.CommandContext(ctx, o.options.Binary, "--help")
	// It reaches no cluster, in case it does not know this flag.
	command.Env = slices.Concat(os.Environ(), o.manager.Env, o.options.Env, []string{"KUBECONFIG=" + os.DevNull})
	command.WaitDelay = closeTimeout
	help, _ := command.CombinedOutput() // some exit with an error
	if listed.Match(help) || ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return o.options.Manifests.webhookPort()
}

// webhookPort returns the port of a pod at which the webhooks are served: where their Service leads.
func (m Manifests) webhookPort() (string, error) {
	d, err := m.deployment()
	if err != nil {
		return "", err
	}
	key, service := m.webhookServices()[0], &corev1.Service{}
	for _, object := range m.Select("Service") {
		if client.ObjectKeyFromObject(object) == key {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, service)
		}
	}
	if err != nil || len(service.Spec.Ports) == 0 {
		return "", errors.Join(fmt.Errorf("the Service %s of the webhooks has no port", key), err)
	}
	at := max(0, slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == defaultPort }))
	port, target := service.Spec.Ports[at].Port, service.Spec.Ports[at].TargetPort
	for _, p := range d.Spec.Template.Spec.Containers[0].Ports {
		if target.Type == intstr.String && p.Name == target.StrVal {
			port = p.ContainerPort
		}
	}
	return strconv.Itoa(int(cmp.Or(target.IntVal, port))), nil
}
