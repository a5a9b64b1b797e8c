package framework

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

// NeedsKubelet skips the test if pods are only simulated. The reason says why real pods are needed.
func (s *Scope) NeedsKubelet(reason string) {
	s.Helper()
	s.needs(s.Cluster.RunsPods, "pods are only simulated on this cluster: %s; make e2e shows it", reason)
}

// NeedsImage loads an image that a manifest names onto the nodes, unless they pull images themselves. It skips the test if the image can't
// be fetched.
func (s *Scope) NeedsImage(ctx context.Context, image string) {
	s.Helper()
	if s.Cluster.StockAs != nil {
		err := s.Cluster.StockAs(ctx, image)
		if err != nil {
			s.Skipf("can't get the image %s: %v", image, err)
		}
	}
}

// LoadImageArchive loads the images of an archive, in the format of docker save, onto the nodes. It skips the test if nodes pull their
// images themselves.
func (s *Scope) LoadImageArchive(ctx context.Context, archive string) {
	s.Helper()
	s.needs(s.Cluster.LoadImageArchive != nil, "the nodes of this cluster pull their images themselves, so none can be brought to them")
	s.must(s.Cluster.LoadImageArchive(ctx, archive))
}

// Dial connects to a port of a pod, as `kubectl port-forward` does. The connection is closed when the test is done.
func (s *Scope) Dial(ctx context.Context, pod *corev1.Pod, port int32) net.Conn {
	s.Helper()
	url := s.clientset().CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(s.Config)
	s.must(err)
	forwarding, stop := context.WithCancel(ctx)
	s.Cleanup(stop)
	ready := make(chan struct{})
	forwarder, err := portforward.NewOnAddresses(spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url),
		[]string{"127.0.0.1"}, []string{"0:" + strconv.Itoa(int(port))}, forwarding.Done(), ready, io.Discard, io.Discard)
	s.must(err)
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		s.Fatalf("forwarding port %d of the pod %s: %v", port, pod.Name, err)
	}
	ports, err := forwarder.GetPorts()
	s.must(err)
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", ports[0].Local))
	s.must(err)
	s.Cleanup(func() { connection.Close() })
	return connection
}

// WaitForLog follows the log of the pod's only container, as `kubectl logs --follow` does, until a line contains the text.
func WaitForLog(ctx context.Context, s *Scope, pod *corev1.Pod, text string) {
	s.Helper()
	ctx, cancel := s.Bounded(ctx)
	defer cancel()
	if last := s.follow(ctx, pod, text); !strings.Contains(last, text) {
		s.Fatalf("the log of the pod %s: expected a line with %q; last seen: %s", pod.Name, text, last)
	}
}

// LogHas reports whether a line in the log of the pod's only container contains the text. It waits for such a line until ctx ends.
func (s *Scope) LogHas(ctx context.Context, pod *corev1.Pod, text string) bool {
	s.Helper()
	return strings.Contains(s.follow(ctx, pod, text), text)
}

// follow returns the first line of the log with the text in it, or the last line before ctx ends.
func (s *Scope) follow(ctx context.Context, pod *corev1.Pod, text string) string {
	s.Helper()
	log, err := s.clientset().CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Follow: true}).Stream(ctx)
	if err != nil {
		s.Fatalf("the log of the pod %s: %v", pod.Name, err)
	}
	defer log.Close()
	last := "nothing"
	for lines := bufio.NewScanner(log); lines.Scan(); {
		last = lines.Text()
		if strings.Contains(last, text) {
			break
		}
	}
	return last
}

// Signal sends a signal, such as "KILL", to the processes of the program in a pod. It skips the test if tests can't reach the processes of
// pods.
func (s *Scope) Signal(ctx context.Context, pod *corev1.Pod, program, signal string) {
	s.Helper()
	s.needs(s.Cluster.Signal != nil, "the processes of this cluster's pods are out of a test's reach, so none can be killed here")
	s.must(s.Cluster.Signal(ctx, pod, program, signal))
}

// StopNode stops a node of the cluster as a power failure would. It skips the test if tests can't stop nodes.
func (s *Scope) StopNode(ctx context.Context, node string) {
	s.Helper()
	s.needs(s.Cluster.StopNode != nil, "the nodes of this cluster are out of a test's reach, so none can be stopped here")
	s.must(s.Cluster.StopNode(ctx, node))
}

// StartNode starts a node that [Scope.StopNode] has stopped.
func (s *Scope) StartNode(ctx context.Context, node string) {
	s.Helper()
	s.must(s.Cluster.StartNode(ctx, node))
}

func (s *Scope) clientset() *kubernetes.Clientset {
	s.Helper()
	clientset, err := kubernetes.NewForConfig(s.Config)
	s.must(err)
	return clientset
}
