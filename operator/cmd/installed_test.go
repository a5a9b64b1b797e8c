package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/testenv"
)

// asOperator is the environment variable that makes the test executable run as the operator.
const asOperator = "TEST_AS_OPERATOR"

func TestMain(m *testing.M) {
	if os.Getenv(asOperator) != "" {
		os.Exit(run(os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// auditPolicy makes the API server record every write, and every read of a Deployment.
const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
	{"level": "Metadata", "verbs": ["get"], "resources": [{"group": "apps", "resources": ["deployments"]}]},
	{"level": "None", "verbs": ["get", "list", "watch"]},
	{"level": "Metadata"}]}`

// installation is a real API server on which a test installs config/default, step by step.
type installation struct {
	*testing.T
	config    *rest.Config
	admin     client.Client
	manifests []*unstructured.Unstructured
	manager   *appsv1.Deployment
	audit     string // the file of the audit log
}

// newInstallation starts an API server on which nothing is installed yet.
func newInstallation(t *testing.T) *installation {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("needs an API server: run `make test`, or set KUBEBUILDER_ASSETS to a directory that holds etcd and kube-apiserver")
	}
	i := &installation{T: t, audit: filepath.Join(t.TempDir(), "audit.log")}
	policy := filepath.Join(t.TempDir(), "policy.json")
	i.must(os.WriteFile(policy, []byte(auditPolicy), 0o600))
	environment := &envtest.Environment{ControlPlaneStartTimeout: 5 * time.Minute, ControlPlaneStopTimeout: 5 * time.Minute}
	environment.ControlPlane.GetAPIServer().Configure().Set("audit-policy-file", policy).Set("audit-log-path", i.audit)
	config, stop, err := testenv.Start(environment)
	i.must(err)
	i.config = config
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	scheme := runtime.NewScheme()
	i.must(errors.Join(clientgoscheme.AddToScheme(scheme), cachev1alpha1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)))
	i.admin, err = client.New(i.config, client.Options{Scheme: scheme})
	i.must(err)

	for _, resource := range build(t, "default").Resources() {
		content, err := resource.MarshalJSON()
		i.must(err)
		object := &unstructured.Unstructured{}
		i.must(object.UnmarshalJSON(content))
		i.manifests = append(i.manifests, object)
		if object.GetKind() == "Deployment" {
			i.manager = &appsv1.Deployment{}
			i.must(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, i.manager))
		}
	}
	return i
}

func (i *installation) must(err error) {
	i.Helper()
	if err != nil {
		i.Fatal(err)
	}
}

// install creates the objects of these kinds from the manifests, after applying change to each.
func (i *installation) install(change func(*unstructured.Unstructured), kinds ...string) {
	i.Helper()
	for _, kind := range kinds {
		found := false
		for _, object := range i.manifests {
			if object.GetKind() != kind {
				continue
			}
			found = true
			created := object.DeepCopy()
			change(created)
			if kind == "CustomResourceDefinition" {
				definition := &apiextensionsv1.CustomResourceDefinition{}
				i.must(runtime.DefaultUnstructuredConverter.FromUnstructured(created.Object, definition))
				_, err := envtest.InstallCRDs(i.config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{definition}, MaxTime: 10 * time.Minute})
				i.must(err)
				continue
			}
			i.must(i.admin.Create(i.Context(), created))
		}
		if !found {
			i.Errorf("there is no %s in the manifests", kind)
		}
	}
}

func asItIs(*unstructured.Unstructured) {}

// toLocalhost points a Service at this machine, where the API server and the operator run.
func toLocalhost(object *unstructured.Unstructured) {
	object.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
}

// atPort makes the API server call the webhooks of a configuration at the port.
func atPort(port int64) func(*unstructured.Unstructured) {
	return func(object *unstructured.Unstructured) {
		for _, webhook := range object.Object["webhooks"].([]any) {
			webhook.(map[string]any)["clientConfig"].(map[string]any)["service"].(map[string]any)["port"] = port
		}
	}
}

// kubeconfig writes a kubeconfig that authenticates as the manager's ServiceAccount, and returns its path.
func (i *installation) kubeconfig() string {
	i.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: i.config.Host, CertificateAuthorityData: i.config.CAData}
	config.AuthInfos["operator"] = &clientcmdapi.AuthInfo{Token: i.token(i.manager.Namespace, i.manager.Spec.Template.Spec.ServiceAccountName)}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "operator"}
	config.CurrentContext = "test"
	path := filepath.Join(i.TempDir(), "kubeconfig")
	i.must(clientcmd.WriteToFile(*config, path))
	return path
}

// token returns a token of a ServiceAccount.
func (i *installation) token(namespace, name string) string {
	i.Helper()
	request := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	i.must(i.admin.SubResource("token").Create(i.Context(), account, request))
	return request.Status.Token
}

// clientOf returns a client that impersonates a user.
func (i *installation) clientOf(user string, groups ...string) client.WithWatch {
	i.Helper()
	config := rest.CopyConfig(i.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	c, err := client.NewWithWatch(config, client.Options{Scheme: i.admin.Scheme()})
	i.must(err)
	return c
}

// bind binds a user or a ServiceAccount to a ClusterRole, for all namespaces.
func (i *installation) bind(role, kind, namespace, name string) {
	i.Helper()
	i.must(i.admin.Create(i.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "test-" + role + "-" + name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: kind, Namespace: namespace, Name: name}},
	}))
}

// eventually calls try until it succeeds. It is for conditions without an event to wait for, such as a probe, or the API server
// acting on a change of its own configuration.
func (i *installation) eventually(what string, try func(context.Context) error) {
	i.Helper()
	var last error
	err := wait.PollUntilContextTimeout(i.Context(), 10*time.Millisecond, 10*time.Minute, true, func(ctx context.Context) (bool, error) { //nolint:forbidigo // there is nothing to watch
		last = try(ctx)
		return last == nil, nil
	})
	if err != nil {
		i.Fatalf("%s: %v: %v", what, err, last)
	}
}

// requests returns the requests of a process in the audit log so far, without reviews of tokens and access.
func (i *installation) requests(program string) []auditv1.Event {
	i.Helper()
	content, err := os.ReadFile(i.audit)
	i.must(err)
	var events []auditv1.Event
	for line := range bytes.Lines(content) {
		event := auditv1.Event{}
		if err := json.Unmarshal(line, &event); err != nil {
			break // this line is still being written
		}
		if strings.HasPrefix(event.UserAgent, program+"/") && event.ObjectRef != nil && !strings.HasSuffix(event.ObjectRef.Resource, "reviews") {
			events = append(events, event)
		}
	}
	return events
}

// period waits for three requests of a process for the same object, and returns the shorter of the two times between them. On a busy
// machine it waits for three that follow each other in time: most bounds what it returns.
func (i *installation) period(program, verb, resource, name string, most time.Duration) time.Duration {
	i.Helper()
	var shortest time.Duration
	i.eventually(fmt.Sprintf("three times %s %s %s", verb, resource, name), func(context.Context) error {
		var times []time.Time
		for _, event := range i.requests(program) {
			if event.Verb == verb && event.ObjectRef.Resource == resource && event.ObjectRef.Name == name {
				times = append(times, event.RequestReceivedTimestamp.Time)
			}
		}
		if len(times) < 3 {
			return fmt.Errorf("there are %d", len(times))
		}
		last := times[len(times)-3:]
		if shortest = min(last[1].Sub(last[0]), last[2].Sub(last[1])); shortest > most {
			return fmt.Errorf("between the last of them, there were %s", shortest)
		}
		return nil
	})
	return shortest
}

// process is a replica of the operator.
type process struct {
	installation             *installation
	name                     string
	command                  *exec.Cmd
	health, metrics, webhook string
	exited                   chan error

	mutex sync.Mutex
	log   []string
}

// start starts a replica with the manifests' arguments, free ports, and additional arguments. The audit log shows its name as the
// user agent.
func (i *installation) start(name, kubeconfig string, arguments ...string) *process {
	i.Helper()
	executable, err := os.Executable()
	i.must(err)
	p := &process{installation: i, name: name, exited: make(chan error, 1)}
	freeAddresses(&p.health, &p.metrics, &p.webhook)
	container := i.manager.Spec.Template.Spec.Containers[0]
	p.command = exec.Command(executable)
	p.command.Args = append(append([]string{name}, container.Args...), append([]string{
		"--health-probe-bind-address=" + p.health, "--metrics-bind-address=" + p.metrics, "--webhook-bind-address=" + p.webhook,
	}, arguments...)...)
	p.command.Env = append(os.Environ(), asOperator+"=1", "KUBECONFIG="+kubeconfig, namespaceVariable+"="+i.manager.Namespace)
	output, err := p.command.StderrPipe()
	i.must(err)
	i.must(p.command.Start())
	go func() {
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			p.mutex.Lock()
			p.log = append(p.log, lines.Text())
			p.mutex.Unlock()
		}
		p.exited <- p.command.Wait()
	}()
	i.Cleanup(func() {
		_ = p.command.Process.Kill() // it may have exited
		if i.Failed() {
			i.Logf("the log of %s:\n%s", name, strings.Join(p.lines(), "\n"))
		}
	})
	return p
}

// lines returns what the process has logged so far.
func (p *process) lines() []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return append([]string(nil), p.log...)
}

// probe returns an error unless a probe of the process succeeds within a second, the timeout that a kubelet uses by default.
func (p *process) probe(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.health+path, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("%s: %s", response.Status, content), err)
	}
	return err
}

// freeAddresses sets each to another address of this machine on which nothing listens. A port that the system chooses may be
// somebody else's by the time the replica listens, because the system chooses it again once it is free. It never chooses these, nor do
// the embedded clusters that other packages' tests start meanwhile, which have those from 20000.
func freeAddresses(addresses ...*string) {
	var taken []net.Listener // until all are found, so that none is found twice
	for _, address := range addresses {
		for *address == "" {
			listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(5000)))
			if err == nil {
				taken = append(taken, listener)
				*address = listener.Addr().String()
			}
		}
	}
	for _, listener := range taken {
		listener.Close()
	}
}
