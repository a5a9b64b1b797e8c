package manifest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Manager is what the manifests say about how the operator's process runs.
type Manager struct {
	// Deployment names the manager's Deployment.
	Deployment client.ObjectKey
	// ServiceAccount is who the process is.
	ServiceAccount client.ObjectKey
	// Command is the program and its first arguments where the manifests say so; else the image does.
	Command []string
	// Args are its arguments and Env its environment, with the values that they would have in a pod.
	Args []string
	Env  []string
	// Ports are those that the containers of its pod declare.
	Ports []string
	// Certificates are the directories in which its container expects a certificate that somebody else makes, such as cert-manager:
	// those at which Secrets are mounted that the manifests lack, and that of --webhook-cert-path. The process finds one there if it
	// knows the directory by an argument, by a variable, or by that of temporary files.
	Certificates []string
	// Secrets are the names of the Secrets that its pod mounts and that the manifests lack.
	Secrets []string
}

// UserName returns the name of the manager's user in the API server.
func (m Manager) UserName() string {
	return fmt.Sprintf("system:serviceaccount:%s:%s", m.ServiceAccount.Namespace, m.ServiceAccount.Name)
}

// Manager finds the manager in the manifests: the only Deployment, the way kubebuilder lays a project out.
func (m Set) Manager() (Manager, error) {
	d, container, err := m.Deployment()
	if err != nil {
		return Manager{}, err
	}
	environment, err := m.environment(d, container)
	if err != nil {
		return Manager{}, err
	}
	manager := m.managerOf(d, container)
	manager.Command, manager.Args, manager.Env = environment.expandAll(container.Command), environment.expandAll(container.Args), environment.list
	return manager, nil
}

// ManagerInPods returns the manager without what only a process needs: its command, its arguments and its environment, for which a kubelet
// may have values that nobody else has.
func (m Set) ManagerInPods() (Manager, error) {
	d, container, err := m.Deployment()
	if err != nil {
		return Manager{}, err
	}
	return m.managerOf(d, container), nil
}

func (m Set) managerOf(d *appsv1.Deployment, container *corev1.Container) Manager {
	var ports []string
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, p := range c.Ports {
			ports = append(ports, strconv.Itoa(int(p.ContainerPort)))
		}
	}
	return Manager{
		Ports:          ports,
		Deployment:     client.ObjectKeyFromObject(d),
		ServiceAccount: client.ObjectKey{Namespace: d.Namespace, Name: d.Spec.Template.Spec.ServiceAccountName},
		Certificates:   m.certificates(d, container),
		Secrets:        m.missingSecrets(d),
	}
}

// Deployment returns the manager's Deployment, and which of its containers is the manager.
func (m Set) Deployment() (*appsv1.Deployment, *corev1.Container, error) {
	deployments := m.Select("Deployment")
	if len(deployments) != 1 {
		return nil, nil, fmt.Errorf("the manifests have %d Deployments where one, the manager's, was expected", len(deployments))
	}
	d := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(deployments[0].Object, d); err != nil {
		return nil, nil, fmt.Errorf("reading the manager's Deployment %s: %w", deployments[0].GetName(), err)
	}
	container, err := ManagerContainer(d)
	return d, container, err
}

// DefaultContainer is the annotation of pods that names the container which kubectl uses if none is given.
const DefaultContainer = "kubectl.kubernetes.io/default-container"

// ManagerContainer returns the container of the manager's Deployment that runs the operator: the one that [DefaultContainer] names, or
// else the only one, or else the one called manager, as kubebuilder calls it. Others may be beside it, such as a proxy in front of its
// metrics.
func ManagerContainer(d *appsv1.Deployment) (*corev1.Container, error) {
	containers := d.Spec.Template.Spec.Containers
	var names []string
	for i := range containers {
		names = append(names, containers[i].Name)
	}
	name, annotated := d.Spec.Template.Annotations[DefaultContainer]
	switch {
	case len(containers) == 0:
		return nil, fmt.Errorf("the manager's Deployment %s has no container: add the one that runs the operator", d.Name)
	case annotated && !slices.Contains(names, name):
		return nil, fmt.Errorf("the manager's Deployment %s has the containers %q, and its annotation %s names %q: name one of them", d.Name, names, DefaultContainer, name)
	case !annotated && len(containers) == 1:
		return &containers[0], nil
	case !annotated:
		name = "manager"
	}
	if i := slices.Index(names, name); i >= 0 {
		return &containers[i], nil
	}
	return nil, fmt.Errorf("the manager's Deployment %s has the containers %q, and none is called manager: name the one that runs the operator in the annotation %s of its pods",
		d.Name, names, DefaultContainer)
}

// FlagValue returns the value that the arguments give the flag, in any of the ways in which Go programs take one.
func FlagValue(args []string, name string) (value string, ok bool) {
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			continue
		}
		given, after, joined := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		switch {
		case given != name:
		case joined:
			value, ok = after, true
		case i+1 < len(args):
			value, ok = args[i+1], true
		}
	}
	return value, ok
}
