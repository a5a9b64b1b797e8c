package kind_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/example/operator-testbed/e2e/cluster/kind"
	"github.com/example/operator-testbed/e2e/cluster/supervisor/leftover"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/reaper"
	"github.com/example/operator-testbed/e2e/tier"
)

// needsKind skips the test unless the suites are asked to run on kind. State is the test's own.
func needsKind(t *testing.T) {
	t.Helper()
	tier.NeedsKind(t)
	t.Setenv("TESTBED_STATE", t.TempDir())
}

// containers are the names of those that belong to a cluster.
func containers(t *testing.T, name string) []string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "docker", "ps", "--all", "--format={{.Names}}", "--filter=label=io.x-k8s.kind.cluster="+name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(output))
}

func TestLife(t *testing.T) {
	tier.Nightly(t)
	needsKind(t)
	g := NewWithT(t)
	ctx := t.Context()
	killed(t, "killed")
	g.Expect(containers(t, "operator-testbed-killed")).NotTo(BeEmpty())
	var told bytes.Buffer
	p := kind.NewProvider()
	p.WithName("life").WithOpts(kind.WithProgress(io.MultiWriter(&told, t.Output())))
	t.Cleanup(func() { g.Expect(p.Destroy(context.Background())).To(Succeed()) })
	kubeconfig, err := p.Create(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(told.String()).To(ContainSubstring("nodes of "))
	g.Expect(containers(t, "operator-testbed-killed")).To(BeEmpty())
	g.Expect(filepath.Join(filepath.Dir(filepath.Dir(kubeconfig)), "killed")).NotTo(BeADirectory())

	client, err := kubernetes.NewForConfig(p.KubernetesRestConfig())
	g.Expect(err).NotTo(HaveOccurred())
	version, err := client.Discovery().ServerVersion()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(version.GitVersion).To(Equal("v1.37.0"))

	// What is asked for is in the audit log when the answer is here.
	log := audit.Open(p.AuditLog())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "witnessed"}}
	_, err = client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	events, err := log.Since(audit.Mark{}, audit.Writes, audit.Resource("namespaces", ""), audit.About("witnessed"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(events).NotTo(BeEmpty())

	// The plug-in that embedded clusters have, too.
	pods, err := client.CoreV1().Pods("kube-system").List(ctx, metav1.ListOptions{LabelSelector: "component=kube-apiserver"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pods.Items).To(HaveLen(1))
	g.Expect(pods.Items[0].Spec.Containers[0].Command).To(ContainElement("--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement"))

	again := kind.NewProvider()
	again.WithName("life")
	_, err = again.Create(ctx)
	var up *kind.AlreadyUpError
	g.Expect(errors.As(err, &up)).To(BeTrue(), "%v", err)
	g.Expect(up.Kubeconfig).To(Equal(kubeconfig))

	// Who has another state directory did not make it.
	t.Setenv("TESTBED_STATE", t.TempDir())
	other := kind.NewProvider()
	other.WithName("life")
	_, err = other.Create(ctx)
	g.Expect(err).To(MatchError(ContainSubstring("this testbed did not create it, so it is left alone")))
	g.Expect(other.Destroy(ctx)).To(MatchError(ContainSubstring("left alone")))
	g.Expect(containers(t, "operator-testbed-life")).To(HaveLen(1))
	t.Setenv("TESTBED_STATE", filepath.Dir(filepath.Dir(filepath.Dir(kubeconfig))))

	p.WithOpts(kind.Keep())
	g.Expect(p.Destroy(ctx)).To(Succeed())
	g.Expect(containers(t, "operator-testbed-life")).To(HaveLen(1))
	g.Expect(p.Kept()).To(ContainSubstring("make down CLUSTER=kind NAME=life"))

	p, err = kind.Attach(ctx, "life")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Kept()).To(BeEmpty())
	g.Expect(p.Destroy(ctx)).To(Succeed())
	g.Expect(containers(t, "operator-testbed-life")).To(BeEmpty())
	_, err = os.Stat(filepath.Dir(kubeconfig))
	g.Expect(err).To(MatchError(fs.ErrNotExist))
}

// A suite's own cluster has no pods but those of the control plane, the network and the proxy, and still a default StorageClass.
func TestTemporary(t *testing.T) {
	tier.Nightly(t)
	needsKind(t)
	g := NewWithT(t)
	ctx := t.Context()
	p := kind.NewProvider()
	p.WithName("temporary").WithOpts(kind.WithProgress(t.Output()), kind.Temporary())
	t.Cleanup(func() { g.Expect(p.Destroy(context.Background())).To(Succeed()) })
	_, err := p.Create(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	client, err := kubernetes.NewForConfig(p.KubernetesRestConfig())
	g.Expect(err).NotTo(HaveOccurred())
	deployments, err := client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(deployments.Items).To(BeEmpty())
	classes, err := client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(classes.Items).To(ConsistOf(HaveField("Annotations", HaveKeyWithValue("storageclass.kubernetes.io/is-default-class", "true"))))
}

// killVariable names a cluster to this test binary, which is to be killed while it makes that. With reapVariable, it has a reaper.
const killVariable, reapVariable = "TESTBED_KILLED", "TESTBED_REAPED"

// killed has another process begin to make a cluster, and kills it when there are containers.
func killed(t *testing.T, name string) { killedAt(t, name, "Starting control-plane", syscall.SIGKILL) }

// killedAt has another process make a cluster, and sends it a signal when it prints a text.
func killedAt(t *testing.T, name, text string, signal syscall.Signal, environment ...string) {
	t.Helper()
	victim := exec.CommandContext(t.Context(), os.Args[0])
	victim.Env = append(os.Environ(), append([]string{killVariable + "=" + name}, environment...)...)
	told, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(told)
	for lines.Scan() && !strings.Contains(lines.Text(), text) {
		t.Log("killed:", lines.Text())
	}
	if err := victim.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	if err := victim.Wait(); err == nil {
		t.Fatal("the process that was to be killed has ended before")
	}
}

// TestReaped kills tests that make a cluster which would stay, as `make up CLUSTER=kind` in a page does.
func TestReaped(t *testing.T) {
	needsKind(t)
	for name, test := range map[string]struct {
		at     string
		signal syscall.Signal
	}{
		"being-made": {"Starting control-plane", syscall.SIGKILL},
		"made":       {"made <nil>", syscall.SIGQUIT},
	} {
		t.Run(name, func(t *testing.T) {
			killedAt(t, name, test.at, test.signal, reapVariable+"=yes")
			leftover.None(t, os.Getenv("TESTBED_STATE"))
			for begin := time.Now(); time.Since(begin) < 10*time.Minute && len(containers(t, "operator-testbed-"+name)) > 0; {
				<-time.After(100 * time.Millisecond)
			}
			if left := containers(t, "operator-testbed-"+name); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// TestMain is this test binary, or the process that killed kills.
func TestMain(m *testing.M) {
	name := os.Getenv(killVariable)
	if name == "" {
		os.Exit(reaper.Run(m))
	}
	reaper.Main()
	if os.Getenv(reapVariable) != "" {
		reaper.Begin()
	}
	p := kind.NewProvider()
	p.WithName(name).WithOpts(kind.WithProgress(os.Stdout))
	_, err := p.Create(context.Background())
	fmt.Println("made", err)
	<-time.After(time.Hour) // it is to be killed
}

// interruption is a progress that ends a context at a line.
type interruption struct {
	at     string
	cancel context.CancelCauseFunc
}

var errEnough = errors.New("enough")

func (i interruption) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(i.at)) {
		i.cancel(errEnough)
	}
	return len(line), nil
}

// Ctrl-C comes when the containers are made, and when they are there.
func TestInterrupted(t *testing.T) {
	tier.Nightly(t)
	needsKind(t)
	for name, at := range map[string]string{"early": "Creating cluster", "late": "Starting control-plane"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			p := kind.NewProvider()
			p.WithName(name).WithOpts(kind.WithProgress(interruption{at, cancel}))
			_, err := p.Create(ctx)
			g.Expect(err).To(MatchError(errEnough))
			g.Expect(containers(t, "operator-testbed-"+name)).To(BeEmpty())
			_, err = os.Stat(filepath.Dir(p.GetKubeconfig()))
			g.Expect(err).To(MatchError(fs.ErrNotExist))
		})
	}
}
