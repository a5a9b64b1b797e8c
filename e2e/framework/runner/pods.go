package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// InPods runs an operator as an image in a pod, instead of its executable as a process: the image that the manifests name, which the nodes
// have. A process on this machine represents the pod: while it runs, so does the pod, whose log it prints, and for which it answers the
// readiness probe. What changes a process, such as [WithArgs], changes the pod's template, except for [WithBinary]. There is one replica.
type InPods struct {
	// Kubeconfig is the path of an administrator's kubeconfig.
	Kubeconfig string
	// Kill kills the processes in the containers of a pod. The kubelet then restarts the containers.
	Kill func(ctx context.Context, pod *corev1.Pod) error
	// Trial is an object to call the operator's webhooks with until they answer; nil if there are none.
	Trial *unstructured.Unstructured
}

// InPods reports whether the operator runs in pods.
func (o *Operator) InPods() bool { return o.options.InPods != nil }

// representsVariable is set only in the environment of a process that represents pods: it is the path of a file with the [represented].
const representsVariable = "TESTBED_REPRESENTS"

// represented is what such a process represents.
type represented struct {
	Kubeconfig string                     `json:"kubeconfig"`
	Manifests  string                     `json:"manifests"` // YAML
	Args       []string                   `json:"args"`
	Env        []string                   `json:"env"`
	Trial      *unstructured.Unstructured `json:"trial"`
	Health     string                     `json:"health"` // host:port
}

// Main does the work of a process that represents pods, and never returns then. In every other process, it returns at once. Call it in
// TestMain, before flags are parsed.
func Main() {
	file, ok := os.LookupEnv(representsVariable)
	if !ok {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := represent(ctx, file)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// podProcess returns the process that represents the replica's pod.
func (r *Replica) podProcess(o Options) (supervisor.Process, error) {
	manifests, err := r.operator.deployable.YAML()
	if err != nil {
		return supervisor.Process{}, err
	}
	content, err := json.Marshal(represented{
		Kubeconfig: o.InPods.Kubeconfig, Manifests: string(manifests), Args: o.Args, Env: o.Env, Trial: o.InPods.Trial, Health: r.at.health,
	})
	if err != nil {
		return supervisor.Process{}, err
	}
	file := filepath.Join(r.supervisor().Dir(), "operators", r.name+".pods")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, content, 0o600)); err != nil {
		return supervisor.Process{}, err
	}
	executable, err := os.Executable()
	return supervisor.Process{Name: r.name, Path: executable, Env: append(os.Environ(), representsVariable+"="+file), Grace: deployTimeout}, err
}

// represent deploys what the file describes, and removes it when ctx ends.
func represent(ctx context.Context, file string) (returned error) {
	var of represented
	content, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(content, &of)
	}
	if err != nil {
		return err
	}
	manifests, err := manifest.Parse([]byte(of.Manifests))
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", of.Kubeconfig)
	if err != nil {
		return err
	}
	c, err := watch.NewClient(config)
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	following, end := context.WithCancel(context.WithoutCancel(ctx)) // until the pods have printed their last lines
	var logs sync.WaitGroup
	logs.Go(func() { printLogs(following, c, clients, manifests, os.Stdout) })
	defer logs.Wait()
	defer end()
	deployed, err := Deploy(ctx, DeployOptions{Config: config, Manifests: manifests, Replicas: 1, Args: of.Args, Env: of.Env, Trial: of.Trial})
	if err != nil {
		return err
	}
	defer func() { returned = errors.Join(returned, deployed.Remove(context.WithoutCancel(ctx))) }()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", of.Health)
	if err != nil {
		return err
	}
	probes := &http.Server{Handler: http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		if d, err := clients.AppsV1().Deployments(deployed.Manager.Namespace).Get(request.Context(), deployed.Manager.Name, metav1.GetOptions{}); err != nil || d.Status.ReadyReplicas == 0 {
			answer.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	defer probes.Close()
	go func() { _ = probes.Serve(listener) }()
	<-ctx.Done()
	return nil
}

// printLogs follows the logs of the manager's container in all pods of its Deployment until ctx ends.
func printLogs(ctx context.Context, c client.WithWatch, clients kubernetes.Interface, manifests manifest.Set, out io.Writer) {
	deployment, container, err := manifests.Deployment()
	if err != nil {
		return // Deploy says so
	}
	var printing sync.WaitGroup
	defer printing.Wait()
	begun := map[string]bool{} // containers
	for state, err := range watch.Follow(ctx, c, &corev1.PodList{}, client.InNamespace(deployment.Namespace), client.MatchingLabels(deployment.Spec.Selector.MatchLabels)) {
		if err != nil {
			continue
		}
		for _, version := range state.New {
			pod := version.Object.(*corev1.Pod)
			for _, status := range pod.Status.ContainerStatuses {
				if status.Name != container.Name || status.ContainerID == "" || begun[status.ContainerID] {
					continue
				}
				begun[status.ContainerID] = true
				printing.Go(func() {
					options := &corev1.PodLogOptions{Container: container.Name, Follow: true}
					if log, err := clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).Stream(ctx); err == nil {
						_, _ = io.Copy(out, log)
						log.Close()
					}
				})
			}
		}
	}
}

// killPods kills the processes of the operator's pods.
func (o *Operator) killPods(ctx context.Context) error {
	deployment, _, err := o.deployable.Deployment()
	if err != nil {
		return err
	}
	pods := &corev1.PodList{}
	if err := o.admin.List(ctx, pods, client.InNamespace(deployment.Namespace), client.MatchingLabels(deployment.Spec.Selector.MatchLabels)); err != nil {
		return err
	}
	for i := range pods.Items {
		err = errors.Join(err, o.options.InPods.Kill(ctx, &pods.Items[i]))
	}
	return err
}

// installForPods sets what is deployed: the manifests, with a certificate where the manager expects one that they lack.
func (o *Operator) installForPods(ctx context.Context) error {
	m := o.options.Manifests
	manager, err := o.options.manager()
	if err != nil {
		return err
	}
	o.manager, o.deployable = manager, m
	if len(manager.Secrets) == 0 {
		return nil
	}
	files, err := makeCertificate(m, manager)
	if err != nil {
		return err
	}
	trusting := m.Trusting(files[authorityFile])
	objects := trusting.Objects()
	for _, name := range manager.Secrets {
		secret, err := apiruntime.DefaultUnstructuredConverter.ToUnstructured(&corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Namespace: manager.Deployment.Namespace, Name: name},
			Data:       files,
		})
		if err != nil {
			return err
		}
		objects = append(objects, &unstructured.Unstructured{Object: secret})
	}
	o.deployable = manifest.New(objects...)
	return install.CRDs(ctx, o.options.Config, trusting)
}
